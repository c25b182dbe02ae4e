#include "transient.h"

#include <math.h>

#include "pathgen.h"

#define GRID 64
#define SHORTEST 20.0f
#define LONGEST (PATHGEN_LONGEST_STEP * (TRANSIENT_MOST_POINTS - 1))
#define TURN 6.28318531f

static const float STRETCHES[] = {1.0f, 1.25f, 1.5f};

/* Coefficients of x and y, by powers of u, from where it begins. */
typedef struct {
    float x[6], y[6];
} quintic_t;

static void fit(float c[6], float far, const float first[2], const float second[2]) {
    c[0] = 0.0f;
    c[1] = first[0];
    c[2] = 0.5f * second[0];
    c[3] = 10.0f * far - 6.0f * first[0] - 4.0f * first[1] - 1.5f * second[0] + 0.5f * second[1];
    c[4] = -15.0f * far + 8.0f * first[0] + 7.0f * first[1] + 1.5f * second[0] - second[1];
    c[5] = 6.0f * far - 3.0f * first[0] - 3.0f * first[1] - 0.5f * second[0] + 0.5f * second[1];
}

static quintic_t quintic(const mission_point_t *begin, const mission_point_t *end, float stretch) {
    float x = end->x - begin->x, y = end->y - begin->y;
    float length = stretch * sqrtf(x * x + y * y), bend = length * length;
    float c[2] = {cosf(begin->psi), cosf(end->psi)}, s[2] = {sinf(begin->psi), sinf(end->psi)};
    float kappa[2] = {bend * begin->kappa, bend * end->kappa};
    quintic_t q;
    fit(q.x, x, (float[2]){length * c[0], length * c[1]}, (float[2]){-kappa[0] * s[0], -kappa[1] * s[1]});
    fit(q.y, y, (float[2]){length * s[0], length * s[1]}, (float[2]){kappa[0] * c[0], kappa[1] * c[1]});
    return q;
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

static float speed(const quintic_t *q, float u) {
    float dx = slope(q->x, u), dy = slope(q->y, u);
    return sqrtf(dx * dx + dy * dy);
}

static float curvature(const quintic_t *q, float u) {
    float dx = slope(q->x, u), dy = slope(q->y, u), squared = dx * dx + dy * dy;
    return (dx * bending(q->y, u) - dy * bending(q->x, u)) / fmaxf(squared * sqrtf(squared), 1e-9f);
}

/* Arc length at each grid point; Simpson's rule. */
static void measure(const quintic_t *q, float along[GRID + 1], float speeds[GRID + 1]) {
    along[0] = 0.0f;
    speeds[0] = speed(q, 0.0f);
    for (int i = 0; i < GRID; i++) {
        speeds[i + 1] = speed(q, (float)(i + 1) / GRID);
        float middle = speed(q, ((float)i + 0.5f) / GRID);
        along[i + 1] = along[i] + (speeds[i] + 4.0f * middle + speeds[i + 1]) / (6.0f * GRID);
    }
}

/* The curve at even steps of arc length; false where there is no room for it. */
static bool tabled(const quintic_t *q, const mission_point_t *begin, mission_point_t *points, uint16_t most_points,
                   mission_reference_t *path) {
    float along[GRID + 1], speeds[GRID + 1];
    measure(q, along, speeds);
    float length = along[GRID], psi = begin->psi;
    uint16_t steps = pathgen_steps(length);
    if (steps >= most_points)
        return false;
    for (int i = 0, k = 0; k <= steps; k++) {
        float s = length * (float)k / (float)steps;
        while (i < GRID - 1 && along[i + 1] <= s) i++;
        float span = along[i + 1] - along[i];
        float part = (s - along[i]) / span, rest = 1.0f - part;
        /* The cubic with du/ds = 1/speed at both grid points. */
        float before = span * GRID / speeds[i], after = span * GRID / speeds[i + 1];
        float inside = part * part * (3.0f - 2.0f * part) + part * rest * (rest * before - part * after);
        float u = k == 0 ? 0.0f : k == steps ? 1.0f : ((float)i + inside) / GRID;
        psi += remainderf(atan2f(slope(q->y, u), slope(q->x, u)) - psi, TURN);
        points[k] = (mission_point_t){begin->x + value(q->x, u), begin->y + value(q->y, u), psi, curvature(q, u)};
    }
    *path = (mission_reference_t){.length = length, .points = points, .count = (uint16_t)(steps + 1)};
    return true;
}

bool transient_between(const mission_point_t *begin, const mission_point_t *end, float stretch, mission_point_t *points,
                       uint16_t most_points, mission_reference_t *path) {
    quintic_t q = quintic(begin, end, stretch);
    return tabled(&q, begin, points, most_points, path);
}

typedef enum { FLYABLE, BENT, ASTRAY } verdict_t;

static verdict_t judged(transient_t *t, const mission_point_t *begin, const mission_point_t *end, float stretch) {
    const transient_search_t *search = &t->search;
    quintic_t q = quintic(begin, end, stretch);
    for (int i = 0; i <= GRID; i++) {
        if (!(fabsf(curvature(&q, (float)i / GRID)) <= search->kappa_most))
            return BENT;
    }
    if (!tabled(&q, begin, t->points, t->most_points, &t->path))
        return ASTRAY;
    float change = search->rate_most * t->path.length / (float)(t->path.count - 1);
    for (uint16_t i = 0; i < t->path.count; i++) {
        float kappa = t->points[i].kappa;
        if (!(fabsf(kappa) <= search->kappa_most) || (i > 0 && !(fabsf(kappa - t->points[i - 1].kappa) <= change)))
            return BENT;
    }
    for (uint16_t i = 0; i < t->path.count; i++) {
        if (!search->allowed(search->context, t->points[i].x, t->points[i].y))
            return ASTRAY;
    }
    return FLYABLE;
}

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

bool transient_step(transient_t *t) {
    if (t->status != TRANSIENT_BUSY)
        return true;
    const transient_search_t *search = &t->search;
    t->begin_s = search->starts.first + search->starts.every * (float)t->start;
    t->join_s = search->joins.first + search->joins.every * (float)t->join;
    mission_point_t begin, end;
    mission_point(&search->source, t->begin_s, &begin);
    mission_point(&search->target, t->join_s, &end);
    bool ahead = runs_ahead(&begin, &end);
    for (unsigned i = 0; ahead && i < sizeof STRETCHES / sizeof *STRETCHES; i++) {
        t->tried++;
        verdict_t verdict = judged(t, &begin, &end, STRETCHES[i]);
        if (verdict == FLYABLE) {
            t->status = TRANSIENT_FOUND;
            return true;
        }
        t->bent += verdict == BENT;
        t->astray += verdict == ASTRAY;
    }
    move_on(t);
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
