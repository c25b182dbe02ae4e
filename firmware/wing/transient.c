#include "transient.h"

#include <math.h>
#include <stddef.h>

#include "pathgen.h"

#define GRID TRANSIENT_GRID
#define PIECE 16 /* points that a step looks at */
#define SHORTEST 20.0f
#define LONGEST (PATHGEN_LONGEST_STEP * (TRANSIENT_MOST_POINTS - 1))
#define TURN 6.28318531f

static const float STRETCHES[] = {1.0f, 1.25f, 1.5f};

/* What a curve goes through, a few points at a time; who fails makes way for the next. */
enum { STAGE_PAIR, STAGE_BENDS, STAGE_LENGTH, STAGE_TABLE, STAGE_PLACES, STAGES };

static void fit(float c[6], float far, const float first[2], const float second[2]) {
    c[0] = 0.0f;
    c[1] = first[0];
    c[2] = 0.5f * second[0];
    c[3] = 10.0f * far - 6.0f * first[0] - 4.0f * first[1] - 1.5f * second[0] + 0.5f * second[1];
    c[4] = -15.0f * far + 8.0f * first[0] + 7.0f * first[1] + 1.5f * second[0] - second[1];
    c[5] = 6.0f * far - 3.0f * first[0] - 3.0f * first[1] - 0.5f * second[0] + 0.5f * second[1];
}

static void fit_curve(transient_curve_t *q, const mission_point_t *begin, const mission_point_t *end, float stretch) {
    float x = end->x - begin->x, y = end->y - begin->y;
    float length = stretch * sqrtf(x * x + y * y), bend = length * length;
    float c[2] = {cosf(begin->psi), cosf(end->psi)}, s[2] = {sinf(begin->psi), sinf(end->psi)};
    float kappa[2] = {bend * begin->kappa, bend * end->kappa};
    fit(q->x, x, (float[2]){length * c[0], length * c[1]}, (float[2]){-kappa[0] * s[0], -kappa[1] * s[1]});
    fit(q->y, y, (float[2]){length * s[0], length * s[1]}, (float[2]){kappa[0] * c[0], kappa[1] * c[1]});
}

static float value(const float c[6], float u) {
    return ((((c[5] * u + c[4]) * u + c[3]) * u + c[2]) * u + c[1]) * u + c[0];
}

static float slope(const float c[6], float u) {
    return (((5.0f * c[5] * u + 4.0f * c[4]) * u + 3.0f * c[3]) * u + 2.0f * c[2]) * u + c[1];
}

static float bending(const float c[6], float u) {
    return ((20.0f * c[5] * u + 12.0f * c[4]) * u + 6.0f * c[3]) * u + 2.0f * c[2];
}

static float speed(const transient_curve_t *q, float u) {
    float dx = slope(q->x, u), dy = slope(q->y, u);
    return sqrtf(dx * dx + dy * dy);
}

static float curvature(const transient_curve_t *q, float u) {
    float dx = slope(q->x, u), dy = slope(q->y, u), squared = dx * dx + dy * dy;
    return (dx * bending(q->y, u) - dy * bending(q->x, u)) / fmaxf(squared * sqrtf(squared), 1e-9f);
}

static bool bends_little(transient_t *t, uint16_t i) {
    return fabsf(curvature(&t->curve, (float)i / GRID)) <= t->search.kappa_most;
}

/* Arc length at a grid point; Simpson's rule. */
static bool measured(transient_t *t, uint16_t i) {
    transient_curve_t *q = &t->curve;
    q->speeds[i] = speed(q, (float)i / GRID);
    q->along[i] = 0.0f;
    if (i > 0) {
        float middle = speed(q, ((float)i - 0.5f) / GRID);
        q->along[i] = q->along[i - 1] + (q->speeds[i - 1] + 4.0f * middle + q->speeds[i]) / (6.0f * GRID);
    }
    if (i < GRID)
        return true;
    q->steps = pathgen_steps(q->along[GRID]);
    q->part = 0;
    return q->steps < t->most_points;
}

/* The curve at even steps of arc length. */
static bool tabled(transient_t *t, uint16_t k) {
    transient_curve_t *q = &t->curve;
    float step = q->along[GRID] / (float)q->steps, s = q->along[GRID] * (float)k / (float)q->steps;
    while (q->part < GRID - 1 && q->along[q->part + 1] <= s) q->part++;
    unsigned i = q->part;
    float span = q->along[i + 1] - q->along[i];
    float part = (s - q->along[i]) / span, rest = 1.0f - part;
    /* The cubic with du/ds = 1/speed at both grid points. */
    float before = span * GRID / q->speeds[i], after = span * GRID / q->speeds[i + 1];
    float inside = part * part * (3.0f - 2.0f * part) + part * rest * (rest * before - part * after);
    float u = k == 0 ? 0.0f : k == q->steps ? 1.0f : ((float)i + inside) / GRID;
    const mission_point_t *previous = k == 0 ? &t->begin : &t->points[k - 1];
    float psi = previous->psi + remainderf(atan2f(slope(q->y, u), slope(q->x, u)) - previous->psi, TURN);
    float kappa = curvature(q, u);
    t->points[k] = (mission_point_t){t->begin.x + value(q->x, u), t->begin.y + value(q->y, u), psi, kappa};
    return fabsf(kappa) <= t->search.kappa_most &&
           (k == 0 || fabsf(kappa - previous->kappa) <= t->search.rate_most * step);
}

static bool is_allowed(transient_t *t, uint16_t k) {
    const transient_search_t *search = &t->search;
    return search->allowed == NULL || search->allowed(search->context, t->points[k].x, t->points[k].y);
}

static bool (*const works[STAGES])(transient_t *t, uint16_t index) = {
    [STAGE_BENDS] = bends_little, [STAGE_LENGTH] = measured, [STAGE_TABLE] = tabled, [STAGE_PLACES] = is_allowed};

/* Whether the end lies ahead, seen from both ends, and not too far: else the curve would loop, or find no room. */
static bool runs_ahead(const mission_point_t *begin, const mission_point_t *end) {
    float x = end->x - begin->x, y = end->y - begin->y;
    float squared = x * x + y * y;
    return squared >= SHORTEST * SHORTEST && squared <= LONGEST * LONGEST &&
           x * cosf(begin->psi) + y * sinf(begin->psi) > 0.0f && x * cosf(end->psi) + y * sinf(end->psi) > 0.0f;
}

static uint16_t places(const transient_scan_t *scan) {
    float steps = fmaxf(scan->last - scan->first, 0.0f) / scan->every + 1e-4f;
    return (uint16_t)((uint16_t)fminf(steps, 60000.0f) + 1u);
}

void transient_begin(transient_t *t, const transient_search_t *search, mission_point_t *points, uint16_t most_points) {
    *t = (transient_t){.search = *search, .points = points, .most_points = most_points};
    t->starts = places(&search->starts);
    t->joins = places(&search->joins);
}

static void move_on(transient_t *t) {
    uint16_t *inner = &t->join, *outer = &t->start;
    uint16_t inners = t->joins, outers = t->starts;
    if (t->search.join_early) {
        inner = &t->start, outer = &t->join;
        inners = t->starts, outers = t->joins;
    }
    if (++*inner < inners)
        return;
    *inner = 0;
    if (++*outer == outers)
        t->status = TRANSIENT_NONE;
}

static void begin_curve(transient_t *t) {
    fit_curve(&t->curve, &t->begin, &t->end, STRETCHES[t->stretch]);
    t->stage = STAGE_BENDS;
    t->next = 0;
    t->last = GRID;
}

static void begin_pair(transient_t *t) {
    const transient_search_t *search = &t->search;
    t->begin_s = search->starts.first + search->starts.every * (float)t->start;
    t->join_s = search->joins.first + search->joins.every * (float)t->join;
    mission_point(&search->source, t->begin_s, &t->begin);
    mission_point(&search->target, t->join_s, &t->end);
    t->stretch = 0;
    if (runs_ahead(&t->begin, &t->end))
        begin_curve(t);
    else
        move_on(t);
}

void transient_between(transient_t *t, const mission_point_t *begin, const mission_point_t *end,
                       mission_point_t *points, uint16_t most_points) {
    *t = (transient_t){.starts = 1, .joins = 1, .begin = *begin, .end = *end, .points = points};
    t->most_points = most_points;
    t->search.kappa_most = t->search.rate_most = INFINITY;
    begin_curve(t);
}

static void rejected(transient_t *t) {
    if (++t->stretch < sizeof STRETCHES / sizeof *STRETCHES) {
        begin_curve(t);
    } else {
        t->stage = STAGE_PAIR;
        move_on(t);
    }
}

static void passed(transient_t *t) {
    t->next = 0;
    t->last = t->stage == STAGE_BENDS ? GRID : t->curve.steps;
    if (++t->stage < STAGES)
        return;
    t->status = TRANSIENT_FOUND;
    t->path = (mission_reference_t){
        .length = t->curve.along[GRID], .points = t->points, .count = (uint16_t)(t->curve.steps + 1)};
}

bool transient_step(transient_t *t) {
    if (t->status != TRANSIENT_BUSY)
        return true;
    if (t->stage == STAGE_PAIR) {
        begin_pair(t);
    } else {
        bool fine = true;
        for (unsigned i = 0; fine && i < PIECE && t->next <= t->last; i++) fine = works[t->stage](t, t->next++);
        if (!fine)
            rejected(t);
        else if (t->next > t->last)
            passed(t);
    }
    return t->status != TRANSIENT_BUSY;
}

transient_search_t transient_leave(const mission_reference_t *circle, float now, const mission_reference_t *onto,
                                   const transient_joining_t *joining) {
    return (transient_search_t){
        .source = *circle,
        .target = *onto,
        .starts = {now, now + circle->length, joining->leave_every},
        .joins = {0.0f, fminf(joining->reach, onto->length), joining->join_every},
        .join_early = true,
        .kappa_most = 1.0f / joining->least_radius,
        .rate_most = joining->bend_rate,
    };
}

transient_search_t transient_enter(const mission_reference_t *path, float first, const mission_reference_t *circle,
                                   const transient_joining_t *joining) {
    mission_point_t begin;
    mission_point(path, first, &begin);
    float angle = atan2f(begin.y - circle->y, begin.x - circle->x) * (circle->left ? 1.0f : -1.0f);
    float nearest = (angle < 0.0f ? angle + TURN : angle) * circle->radius;
    return (transient_search_t){
        .source = *path,
        .target = *circle,
        .starts = {first, path->length, joining->leave_every},
        .joins = {nearest, nearest + circle->length - joining->join_every, joining->join_every},
        .kappa_most = 1.0f / joining->least_radius,
        .rate_most = joining->bend_rate,
    };
}

transient_search_t transient_stitch(const mission_reference_t *path, float begin, const mission_reference_t *onto,
                                    float first, const transient_joining_t *joining) {
    return (transient_search_t){
        .source = *path,
        .target = *onto,
        .starts = {begin, begin, joining->leave_every},
        .joins = {first, fminf(joining->reach, onto->length), joining->join_every},
        .kappa_most = 1.0f / joining->least_radius,
        .rate_most = joining->bend_rate,
    };
}
