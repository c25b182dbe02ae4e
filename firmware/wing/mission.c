#include "mission.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define TURN 6.283185307f
#define FARTHEST 1e6f /* from the middle of the map; a goal beyond is none */

static const struct {
    uint8_t before, event, after;
} transitions[] = {MISSION_TRANSITIONS};

static mission_reference_t circle(float x, float y, float radius, bool left) {
    return (mission_reference_t){
        .closed = true, .length = TURN * radius, .x = x, .y = y, .radius = radius, .left = left};
}

/* Into 0 .. length. */
static float wrapped(float s, float length) {
    float rest = fmodf(s, length);
    return rest < 0.0f ? rest + length : rest;
}

static float lead(const mission_t *m) {
    return m->settings.budget_s * m->settings.speed + m->settings.margin;
}

void mission_point(const mission_reference_t *reference, float s, mission_point_t *point) {
    if (reference->closed) {
        float sign = reference->left ? 1.0f : -1.0f;
        float angle = sign * s / reference->radius;
        point->x = reference->x + reference->radius * cosf(angle);
        point->y = reference->y + reference->radius * sinf(angle);
        point->psi = remainderf(angle + sign * TURN / 4.0f, TURN);
        point->kappa = sign / reference->radius;
        return;
    }
    uint16_t last = (uint16_t)(reference->count - 1);
    float place = s * (float)last / reference->length;
    if (!(place > 0.0f)) {
        *point = reference->points[0];
        return;
    }
    if (place >= (float)last) {
        *point = reference->points[last];
        return;
    }
    uint16_t index = (uint16_t)place;
    float part = place - (float)index;
    const mission_point_t *a = &reference->points[index], *b = a + 1;
    point->x = a->x + part * (b->x - a->x);
    point->y = a->y + part * (b->y - a->y);
    point->psi = a->psi + part * remainderf(b->psi - a->psi, TURN);
    point->kappa = a->kappa + part * (b->kappa - a->kappa);
}

/* Telling. A row that finds no room is lost: the ground sees that by its number. */
static mission_row_t *row(mission_t *m, uint8_t stream, uint8_t count) {
    static mission_row_t spare;
    mission_row_t *made = m->out->count < MISSION_MOST_ROWS ? &m->out->rows[m->out->count++] : &spare;
    made->stream = stream;
    made->count = count;
    return made;
}

static void tell_step(mission_t *m) {
    mission_row_t *told = row(m, ROW_STEP, 2);
    told->values[0] = (float)m->state;
    told->values[1] = m->orders > 0 ? (float)(m->orders - 1) : 0.0f;
}

static void tell_plan(mission_t *m, const mission_order_t *order, const mission_result_t *result) {
    const float values[MISSION_MOST_VALUES] = {
        (float)order->number,    (float)result->status, order->began_s,      order->start_x,
        order->start_y,          order->goal_x,         order->goal_y,       (float)result->leaves,
        (float)result->expanded, (float)result->cost,   result->work_s,      (float)result->cells,
        (float)result->fine,     result->reaches_goal ? 1.0f : 0.0f,
    };
    memcpy(row(m, ROW_PLAN, MISSION_MOST_VALUES)->values, values, sizeof values);
}

static mission_telling_t *telling(mission_t *m) {
    if (m->telling_count == MISSION_TELLINGS)
        return NULL;
    return &m->tellings[(m->telling_first + m->telling_count++) % MISSION_TELLINGS];
}

static void tell_way(mission_t *m, const mission_result_t *result) {
    mission_telling_t *told = result->planned ? telling(m) : NULL;
    if (told == NULL)
        return;
    uint16_t count = result->cells < MISSION_MOST_CELLS ? result->cells : MISSION_MOST_CELLS;
    memcpy(m->way, result->way, count * sizeof *m->way);
    *told = (mission_telling_t){.what = ROW_CELL, .number = result->number, .count = count};
}

/* Evenly, both ends among them. */
static void tell_path(mission_t *m) {
    mission_telling_t *told = telling(m);
    if (told == NULL)
        return;
    float parts = ceilf(m->reference.length / m->settings.told_every);
    *told = (mission_telling_t){.what = ROW_PATH,
                                .kind = m->kind,
                                .number = m->path_number,
                                .count = (uint16_t)((parts > 1.0f ? parts : 1.0f) + 1.0f),
                                .reference = m->reference};
}

static void tell_one(mission_t *m, mission_telling_t *told) {
    if (told->what == ROW_CELL) {
        const planner_cell_t *cell = &m->way[told->next];
        const float values[5] = {(float)told->number, (float)told->next, (float)cell->level, (float)cell->col,
                                 (float)cell->row};
        memcpy(row(m, ROW_CELL, 5)->values, values, sizeof values);
        return;
    }
    float s = told->reference.length * (float)told->next / (float)(told->count - 1);
    mission_point_t point;
    mission_point(&told->reference, s, &point);
    const float values[7] = {(float)told->number, (float)told->kind, s, point.x, point.y, point.psi, point.kappa};
    memcpy(row(m, ROW_PATH, 7)->values, values, sizeof values);
}

static void tell_some(mission_t *m) {
    for (unsigned rows = 0; rows < m->settings.told_at_once && m->telling_count > 0;) {
        mission_telling_t *told = &m->tellings[m->telling_first];
        if (told->next < told->count) {
            tell_one(m, told);
            told->next++;
            rows++;
        } else {
            m->telling_first = (uint8_t)((m->telling_first + 1) % MISSION_TELLINGS);
            m->telling_count--;
        }
    }
}

/* The node that the next plan starts from, once it is time for one. */
static const mission_node_t *due(const mission_t *m) {
    if (!m->goal_new && m->s < m->joined_s + m->settings.replan_after)
        return NULL;
    float last = m->ending_count > 0 ? m->ending[0].leave_s : m->reference.length;
    for (unsigned i = 0; i < m->nodes_count; i++) {
        const mission_node_t *node = &m->nodes[i];
        if (node->s > m->from_s && node->s >= m->s + lead(m))
            return node->s <= last ? node : NULL;
    }
    return NULL;
}

static void ask(mission_t *m, float now_s, float start_x, float start_y, const mission_node_t *node) {
    m->order = (mission_order_t){.number = m->orders++,
                                 .began_s = now_s,
                                 .start_x = start_x,
                                 .start_y = start_y,
                                 .goal_x = m->goal_x,
                                 .goal_y = m->goal_y,
                                 .from_node = node != NULL,
                                 .from = m->reference,
                                 .circle_s = node == NULL ? m->s : 0.0f};
    if (node != NULL)
        m->order.node = *node;
    m->order.fresh = m->goal_new;
    m->order.flown_count = m->flown_count;
    memcpy(m->order.flown, m->flown, sizeof m->flown);
    m->flown_count = 0;
    m->ordered = true;
    m->goal_new = false;
}

static void enter(mission_t *m, float now_s) {
    if (m->state == STEP_PLAN) {
        ask(m, now_s, m->reference.x, m->reference.y, NULL);
    } else if (m->state == STEP_REPLAN) {
        const mission_node_t *node = due(m);
        m->from_s = node->s;
        ask(m, now_s, node->beyond_x, node->beyond_y, node);
    } else if (m->state == STEP_FOLLOW && m->goal_new) {
        m->from_s = m->s;
    }
}

static void on(mission_t *m, mission_event_t event, float now_s) {
    for (unsigned i = 0; i < sizeof transitions / sizeof *transitions; i++) {
        if (transitions[i].before != m->state || transitions[i].event != event)
            continue;
        mission_state_t before = m->state;
        m->state = (mission_state_t)transitions[i].after;
        if (before == STEP_PLAN || before == STEP_REPLAN)
            m->ordered = false;
        enter(m, now_s);
        if (m->state != before || event == MISSION_EVENT_GOAL)
            tell_step(m);
        return;
    }
}

/* At the end of the legs: on a channel, or on a circle. */
static void arrived_on(mission_t *m, float now_s) {
    if (m->reference.closed) {
        m->nodes_count = m->ending_count = 0;
        m->round_since_s = now_s;
        on(m, MISSION_EVENT_ROUND, now_s);
        return;
    }
    m->nodes = m->next.nodes;
    m->nodes_count = m->next.nodes_count;
    memcpy(m->ending, m->next.ending, sizeof m->ending);
    m->ending_count = m->next.ending_count;
    m->has_next = false;
    m->from_s = m->joined_s = m->s;
    on(m, m->next.arrives && !m->goal_new ? MISSION_EVENT_JOINED_LAST : MISSION_EVENT_JOINED, now_s);
}

/* The channel's ending becomes the legs, when the virtual point has come to it; without one, a circle at its end. */
static bool ending_due(mission_t *m) {
    if (m->kind != KIND_CHANNEL || m->legs_count > 0)
        return false;
    float leave_s = m->ending_count > 0 ? m->ending[0].leave_s : m->reference.length;
    if (m->s < leave_s)
        return false;
    if (m->ending_count > 0) {
        memcpy(m->legs, m->ending, sizeof m->legs);
        m->legs_count = m->ending_count;
        return true;
    }
    mission_point_t end;
    mission_point(&m->reference, m->reference.length, &end);
    float x = end.x - m->radius * sinf(end.psi), y = end.y + m->radius * cosf(end.psi);
    m->legs[0] = (mission_leg_t){
        .leave_s = leave_s,
        .enter_s = wrapped(atan2f(end.y - y, end.x - x), TURN) * m->radius,
        .kind = KIND_START,
        .reference = circle(x, y, m->radius, true),
    };
    m->legs_count = 1;
    return true;
}

static void take_leg(mission_t *m) {
    const mission_leg_t *leg = &m->legs[0];
    m->s = leg->enter_s + (m->s - leg->leave_s);
    m->reference = leg->reference;
    m->kind = leg->kind;
    m->path_number = m->paths++;
    m->legs[0] = m->legs[1];
    m->legs_count--;
    tell_path(m);
}

/* The next reference, where the virtual point has come to where this one is left; s goes on without a jump. */
static void follow_on(mission_t *m, float now_s) {
    for (;;) {
        if (m->legs_count > 0 && m->s >= m->legs[0].leave_s) {
            take_leg(m);
            if (m->legs_count == 0)
                arrived_on(m, now_s);
        } else if (ending_due(m)) {
            on(m, MISSION_EVENT_ENDING, now_s);
        } else {
            break;
        }
    }
    if (m->reference.closed && m->legs_count == 0)
        m->s = wrapped(m->s, m->reference.length);
}

/* The cell that the virtual point has come into, unless it goes round a circle. */
static void remember(mission_t *m) {
    if (m->reference.closed)
        return;
    mission_point_t point;
    mission_point(&m->reference, m->s, &point);
    float cells = (float)(1u << m->settings.finest), half = m->settings.side / 2.0f;
    planner_cell_t cell = {
        .level = m->settings.finest,
        .col = (uint16_t)fminf(fmaxf((point.x + half) / m->settings.side * cells, 0.0f), cells - 1.0f),
        .row = (uint16_t)fminf(fmaxf((point.y + half) / m->settings.side * cells, 0.0f), cells - 1.0f),
    };
    if (m->cell.level == cell.level && m->cell.col == cell.col && m->cell.row == cell.row)
        return;
    m->cell = cell;
    if (m->flown_count == MISSION_MOST_FLOWN) {
        memmove(m->flown, m->flown + 1, sizeof m->flown - sizeof *m->flown);
        m->flown_count--;
    }
    m->flown[m->flown_count++] = cell;
}

static bool passed(const mission_t *m) {
    return m->order.from_node && m->s > m->order.node.s;
}

/* A result; one that nobody waits for any more is passed over. */
static void hear(mission_t *m, float now_s, const mission_result_t *given) {
    if (!m->ordered || given->number != m->order.number)
        return;
    mission_result_t *result = &m->next;
    *result = *given;
    if (result->status == PLAN_FOUND && passed(m))
        result->status = PLAN_TOO_LATE;
    tell_plan(m, &m->order, result);
    tell_way(m, result);
    m->ordered = false;
    if (result->status != PLAN_FOUND) {
        m->round_since_s = now_s;
        on(m, MISSION_EVENT_FAILED, now_s);
        return;
    }
    m->has_next = true;
    memcpy(m->legs, result->legs, sizeof m->legs);
    m->legs_count = result->legs_count;
    if (STITCH_TRANSIENT && m->order.from_node && m->s > m->legs[0].leave_s) { /* past the transient, not past the node */
        m->legs[0] = (mission_leg_t){
            .leave_s = m->order.node.s, .kind = KIND_CHANNEL, .reference = m->legs[m->legs_count - 1].reference};
        m->legs_count = 1;
    }
    if (m->reference.closed) { /* round the circle until its exit comes */
        float round = m->reference.length;
        m->s = wrapped(m->s, round);
        m->legs[0].leave_s = wrapped(m->legs[0].leave_s, round);
        if (m->legs[0].leave_s < m->s)
            m->legs[0].leave_s += round;
    }
    on(m, MISSION_EVENT_FOUND, now_s);
}

void mission_init(mission_t *m, const mission_settings_t *settings, float x, float y, float radius, bool left) {
    memset(m, 0, sizeof *m);
    m->settings = *settings;
    m->state = STEP_LOITER;
    m->reference = circle(x, y, radius, left);
    m->kind = KIND_START;
    m->radius = radius;
    m->home_x = x;
    m->home_y = y;
    m->path_number = m->paths++;
    tell_path(m);
    m->started = true;
}

void mission_command(mission_t *m, float x, float y) {
    if (!(fabsf(x) <= FARTHEST && fabsf(y) <= FARTHEST)) /* also what is no number */
        return;
    m->goal_x = x;
    m->goal_y = y;
    m->goal_new = m->has_goal = true;
}

/* The circle that touches a path there, and its own arc length at that point. */
static mission_reference_t touching(const mission_point_t *at, float radius, bool left, float *s) {
    float side = left ? 1.0f : -1.0f;
    float x = at->x - side * radius * sinf(at->psi), y = at->y + side * radius * cosf(at->psi);
    *s = wrapped(side * atan2f(at->y - y, at->x - x), TURN) * radius;
    return circle(x, y, radius, left);
}

bool mission_loiter(mission_t *m, bool (*free)(const mission_reference_t *circle)) {
    if (!m->reference.closed) {
        mission_point_t point;
        mission_point(&m->reference, m->s, &point);
        bool left = point.kappa >= 0.0f;
        float s;
        mission_reference_t found = touching(&point, m->radius, left, &s);
        if (!free(&found)) {
            found = touching(&point, m->radius, !left, &s);
            if (!free(&found))
                return false;
        }
        m->reference = found;
        m->s = s;
        m->kind = KIND_START;
        m->path_number = m->paths++;
        tell_path(m);
    }
    m->state = STEP_LOITER;
    m->legs_count = m->nodes_count = m->ending_count = 0;
    m->ordered = m->has_next = m->goal_new = false;
    m->started = true; /* tells the step */
    return true;
}

bool mission_resume(mission_t *m) {
    bool able = m->state == STEP_LOITER && m->has_goal;
    m->goal_new = m->goal_new || able;
    return able;
}

void mission_step(mission_t *m, const mission_input_t *in, mission_output_t *out) {
    m->out = out;
    out->count = 0;
    if (m->started) {
        m->started = false;
        tell_step(m);
    }
    m->s = in->s;
    follow_on(m, in->now_s);
    remember(m);
    if (in->result != NULL) {
        hear(m, in->now_s, in->result);
    } else if (m->ordered && passed(m)) {
        const mission_result_t late = {.number = m->order.number, .status = PLAN_TOO_LATE};
        hear(m, in->now_s, &late);
    }
    if (m->goal_new)
        on(m, MISSION_EVENT_GOAL, in->now_s);
    if (m->state == STEP_FOLLOW && due(m) != NULL)
        on(m, MISSION_EVENT_DUE, in->now_s);
    bool circling = m->reference.closed && m->legs_count == 0;
    if (m->state == STEP_STRANDED && circling &&
        (m->goal_new || in->now_s >= m->round_since_s + m->settings.again_after_s))
        on(m, MISSION_EVENT_AGAIN, in->now_s);
    tell_some(m);
    m->out = NULL;
}

static bool leads_to(const mission_leg_t *legs, unsigned count, const mission_point_t *points) {
    for (unsigned i = 0; i < count; i++)
        if (legs[i].reference.points == points)
            return true;
    return false;
}

bool mission_uses(const mission_t *m, const mission_point_t *points) {
    if (m->reference.points == points || leads_to(m->legs, m->legs_count, points) ||
        leads_to(m->ending, m->ending_count, points) || (m->ordered && m->order.from.points == points))
        return true;
    if (m->has_next && leads_to(m->next.ending, m->next.ending_count, points))
        return true;
    for (unsigned i = 0; i < m->telling_count; i++)
        if (m->tellings[(m->telling_first + i) % MISSION_TELLINGS].reference.points == points)
            return true;
    return false;
}
