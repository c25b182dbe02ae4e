#include "operator.h"

#include <math.h>
#include <string.h>

#include "config.h"
#include "hal.h"
#include "interface.h"
#include "pgen.h"
#include "telemetry.h"
#include "wing.h"

#define ROOM_M 40.0f /* free ground around a circle that is entered at once */
#define MAP_SIDE_M (MAP_SIDE_UNITS * MAP_UNIT_M)
#define CELLS (1 << PLANNER_FINEST) /* fine cells along a side of the map */

enum { ANSWER_VALUES = 6 };

static const struct {
    float initial, low, high;
} table[PARAMETER_COUNT] = PARAMETER_TABLE;

/* Changed by PMAN alone; more urgent tasks read single words. */
static float values[PARAMETER_COUNT], slope;

/* COMM_Proc -> PMAN: under the lock. */
static struct {
    bool full;
    operator_message_t message;
} box;

/* The last answer: a command that is repeated, since its answer was lost, is answered again. */
static struct {
    bool some;
    uint8_t number;
    float row[ANSWER_VALUES];
} last;

void operator_init(void)
{
    for (unsigned i = 0; i < PARAMETER_COUNT; i++)
        values[i] = table[i].initial;
    slope = PATH_SLOPE_RAD_M;
    box.full = last.some = false;
}

float operator_value(unsigned parameter) { return values[parameter]; }

void operator_tuning(float tuning[OPERATOR_TUNING])
{
    const float now[OPERATOR_TUNING] = {values[BOARD_PARAMETER_KS], values[BOARD_PARAMETER_KW],
                                        values[BOARD_PARAMETER_KZ], values[BOARD_PARAMETER_KD], slope};
    memcpy(tuning, now, sizeof now);
}

void operator_command(const operator_message_t *message)
{
    uint32_t state = hal_lock();
    box.message = *message;
    box.full = true;
    hal_unlock(state);
}

static bool take(operator_message_t *message)
{
    uint32_t state = hal_lock();
    bool full = box.full;
    *message = box.message;
    box.full = false;
    hal_unlock(state);
    return full;
}

static int32_t cell(float along_m) { return (int32_t)floorf((along_m + MAP_SIDE_M / 2.0f) / (MAP_SIDE_M / CELLS)); }

/* Of the free cells that one can fly between; 0 where it is blocked, and off the map. */
static uint8_t region(int32_t col, int32_t row)
{
    return col >= 0 && row >= 0 && col < CELLS && row < CELLS ? map_regions[row * CELLS + col] : 0;
}

static bool room(float x, float y, float room_m)
{
    for (int32_t row = cell(y - room_m); row <= cell(y + room_m); row++)
        for (int32_t col = cell(x - room_m); col <= cell(x + room_m); col++)
            if (region(col, row) == 0)
                return false;
    return true;
}

static bool room_for(const mission_reference_t *circle) { return room(circle->x, circle->y, circle->radius + ROOM_M); }

static uint8_t check_goal(float x, float y)
{
    float radius = values[BOARD_PARAMETER_LOITER_RADIUS], half = MAP_SIDE_M / 2.0f - radius;
    if (!(fabsf(x) <= half && fabsf(y) <= half && hypotf(x, y) < BOUND_M)) /* also catches NaN */
        return USER_ANSWER_GOAL_OFF_MAP;
    if (!room(x, y, radius))
        return USER_ANSWER_GOAL_BLOCKED;
    const float *estimate = fly_estimate();
    int32_t col = cell(estimate[EST_X]), row = cell(estimate[EST_Y]);
    uint8_t there = region(cell(x), cell(y));
    bool joined = region(col, row) == there || region(col + 1, row) == there || region(col - 1, row) == there ||
                  region(col, row + 1) == there || region(col, row - 1) == there;
    return joined ? USER_ANSWER_ACCEPTED : USER_ANSWER_GOAL_UNREACHABLE;
}

static uint8_t fly_to(mission_t *mission, float x, float y)
{
    uint8_t answer = check_goal(x, y);
    if (answer == USER_ANSWER_ACCEPTED)
        mission_command(mission, x, y);
    return answer;
}

static uint8_t check_value(const mission_t *mission, unsigned parameter, float value)
{
    if (parameter >= PARAMETER_COUNT)
        return USER_ANSWER_UNKNOWN;
    if (!(table[parameter].low <= value && value <= table[parameter].high)) /* also catches NaN */
        return USER_ANSWER_OUTSIDE_LIMITS;
    bool turns = parameter == BOARD_PARAMETER_AIRSPEED || parameter == BOARD_PARAMETER_LOITER_RADIUS;
    float airspeed = parameter == BOARD_PARAMETER_AIRSPEED ? value : values[BOARD_PARAMETER_AIRSPEED];
    float radius = parameter == BOARD_PARAMETER_LOITER_RADIUS ? value : values[BOARD_PARAMETER_LOITER_RADIUS];
    if (turns && radius < airspeed * airspeed / TURN_ACCEL_M_S2)
        return USER_ANSWER_CIRCLE_TOO_TIGHT;
    if (parameter == BOARD_PARAMETER_LOITER_RADIUS && mission->has_goal &&
        !room(mission->goal_x, mission->goal_y, radius))
        return USER_ANSWER_GOAL_BLOCKED;
    return USER_ANSWER_ACCEPTED;
}

static uint8_t set(mission_t *mission, unsigned parameter, float value)
{
    uint8_t answer = check_value(mission, parameter, value);
    if (answer != USER_ANSWER_ACCEPTED)
        return answer;
    uint32_t state = hal_lock(); /* PFOL takes gain and slope together */
    values[parameter] = value;
    if (parameter == BOARD_PARAMETER_KD)
        slope = PSI_INF_RAD * value;
    hal_unlock(state);
    if (parameter == BOARD_PARAMETER_LOITER_RADIUS) {
        mission->radius = value;
        pgen_radius(value);
    }
    return answer;
}

static uint8_t execute(mission_t *mission, const operator_message_t *message)
{
    switch (message->command) {
    case USER_COMMAND_GOAL:
        return fly_to(mission, message->x, message->y);
    case USER_COMMAND_RETURN:
        return fly_to(mission, mission->home_x, mission->home_y);
    case USER_COMMAND_LOITER:
        return mission_loiter(mission, room_for) ? USER_ANSWER_ACCEPTED : USER_ANSWER_NO_ROOM;
    case USER_COMMAND_RESUME:
        return mission_resume(mission) ? USER_ANSWER_ACCEPTED : USER_ANSWER_NO_GOAL;
    case USER_COMMAND_SET:
        return set(mission, message->parameter, message->x);
    case USER_COMMAND_READ:
        return USER_ANSWER_ACCEPTED;
    default:
        return USER_ANSWER_UNKNOWN;
    }
}

static void tell_parameter(unsigned parameter)
{
    if (parameter >= PARAMETER_COUNT)
        return;
    const float row[] = {(float)parameter, values[parameter]};
    telemetry_row(MESSAGE_PARAMETER, row, 2);
}

/* What is in force now: a parameter's value, or the goal. */
static void answer(const mission_t *mission, const operator_message_t *message, uint8_t how)
{
    bool of_value = message->command == USER_COMMAND_SET;
    float x = mission != NULL && mission->has_goal ? mission->goal_x : 0.0f;
    float y = mission != NULL && mission->has_goal && !of_value ? mission->goal_y : 0.0f;
    if (of_value)
        x = message->parameter < PARAMETER_COUNT ? values[message->parameter] : 0.0f;
    const float row[ANSWER_VALUES] = {(float)message->number, (float)message->command, (float)message->parameter,
                                      (float)how, x, y};
    memcpy(last.row, row, sizeof row);
    last.number = message->number;
    last.some = mission != NULL; /* until then it may be asked again */
    telemetry_row(MESSAGE_ANSWER, row, ANSWER_VALUES);
}

void operator_step(mission_t *mission)
{
    operator_message_t message;
    if (!take(&message))
        return;
    if (last.some && message.number == last.number) {
        telemetry_row(MESSAGE_ANSWER, last.row, ANSWER_VALUES);
        return;
    }
    answer(mission, &message, mission != NULL ? execute(mission, &message) : USER_ANSWER_NOT_READY);
    if (mission == NULL)
        return;
    if (message.command == USER_COMMAND_SET)
        tell_parameter(message.parameter);
    for (unsigned i = 0; message.command == USER_COMMAND_READ && i < PARAMETER_COUNT; i++)
        tell_parameter(i);
}
