/* The board's path generation behind functions that take plain arrays. */
#include <stddef.h>

#include "pathgen.h"
#include "transient.c"

static mission_point_t points[PATHGEN_MOST_POINTS], between[TRANSIENT_MOST_POINTS];
static planner_cell_t cells[256];
static pathgen_t gen;
static transient_t transient;

/* `at`: column and row of each cell. Status; count, length and points of the path; steps taken. */
int host_path(const int *at, int count, int level, int begin, float side_m, int most, float *length, float *out,
              int *steps);
int host_path(const int *at, int count, int level, int begin, float side_m, int most, float *length, float *out,
              int *steps) {
    for (int i = 0; i < count; i++)
        cells[i] = (planner_cell_t){(uint8_t)level, (uint16_t)at[2 * i], (uint16_t)at[2 * i + 1]};
    pathgen_begin(&gen, cells, (uint16_t)count, (uint8_t)begin, side_m, points, (uint16_t)most);
    *steps = 0;
    while (!pathgen_step(&gen)) (*steps)++;
    *length = gen.path.length;
    for (int i = 0; i < gen.path.count; i++) {
        const float row[4] = {points[i].x, points[i].y, points[i].psi, points[i].kappa};
        for (int k = 0; k < 4; k++) out[4 * i + k] = row[k];
    }
    return (int)gen.status * 10000 + gen.path.count;
}

/* Of each node s, kind, beyond x and y, direction, last turn, how many cells are kept, the first one's column and row. */
int host_nodes(float *out);
int host_nodes(float *out) {
    for (int i = 0; i < gen.nodes_count; i++) {
        const pathgen_node_t *node = &gen.nodes[i];
        mission_node_t onward = {0};
        bool there = pathgen_onward(&gen, node, &onward);
        const float row[10] = {node->s,         (float)node->kind,      there ? 1.0f : 0.0f,        onward.beyond_x,
                               onward.beyond_y, (float)onward.direction, (float)onward.last_turn,    (float)onward.kept_count,
                               (float)onward.kept[0].col, (float)onward.kept[0].row};
        for (int k = 0; k < 10; k++) out[10 * i + k] = row[k];
    }
    return gen.nodes_count;
}

typedef struct {
    const unsigned char *cells; /* [row][column] of a map */
    int side;
    float side_m;
} allowed_t;

static bool on_free_cell(const void *context, float x, float y) {
    const allowed_t *map = context;
    int col = (int)((x / map->side_m + 0.5f) * (float)map->side), row = (int)((y / map->side_m + 0.5f) * (float)map->side);
    return col >= 0 && row >= 0 && col < map->side && row < map->side && map->cells[row * map->side + col];
}

/* Onto the path of host_path from a circle (x, y, radius, left) at `s`; or from it, from `s` on, onto the circle. */
int host_transient(int leaving, const float *circle, float s, const float *joining, const unsigned char *allowed,
                   int side, float side_m, float *found, float *out);
int host_transient(int leaving, const float *circle, float s, const float *joining, const unsigned char *allowed,
                   int side, float side_m, float *found, float *out) {
    mission_reference_t round = {.closed = true,
                                 .length = 6.28318531f * circle[2],
                                 .x = circle[0],
                                 .y = circle[1],
                                 .radius = circle[2],
                                 .left = circle[3] > 0.0f};
    transient_joining_t how = {joining[0], joining[1], joining[2], joining[3], joining[4]};
    allowed_t map = {allowed, side, side_m};
    transient_search_t search =
        leaving ? transient_leave(&round, s, &gen.path, &how) : transient_enter(&gen.path, s, &round, &how);
    search.allowed = on_free_cell;
    search.context = &map;
    transient_begin(&transient, &search, between, TRANSIENT_MOST_POINTS);
    while (!transient_step(&transient)) continue;
    if (transient.status != TRANSIENT_FOUND)
        return 0;
    found[0] = transient.begin_s;
    found[1] = transient.join_s;
    found[2] = transient.path.length;
    for (int i = 0; i < transient.path.count; i++) {
        const float row[4] = {between[i].x, between[i].y, between[i].psi, between[i].kappa};
        for (int k = 0; k < 4; k++) out[4 * i + k] = row[k];
    }
    return transient.path.count;
}

int host_between(const float *begin, const float *end, float stretch, float *length, float *out);
int host_between(const float *begin, const float *end, float stretch, float *length, float *out) {
    mission_point_t a = {begin[0], begin[1], begin[2], begin[3]}, b = {end[0], end[1], end[2], end[3]};
    transient_between(&transient, &a, &b, between, TRANSIENT_MOST_POINTS);
    while (stretch != STRETCHES[transient.stretch]) rejected(&transient);
    while (!transient_step(&transient)) continue;
    if (transient.status != TRANSIENT_FOUND)
        return 0;
    *length = transient.path.length;
    for (int i = 0; i < transient.path.count; i++) {
        const float row[4] = {between[i].x, between[i].y, between[i].psi, between[i].kappa};
        for (int k = 0; k < 4; k++) out[4 * i + k] = row[k];
    }
    return transient.path.count;
}
