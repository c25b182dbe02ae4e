/* From one reference onto another, as aeroloop.planning.transient and .loiter do it: a quintic with the position,
 * heading and curvature of both where it leaves and joins. Leaving and joining points are tried in order until one gives
 * a curve that bends no more than it may and stays where it may. A step is a few points of a curve: what it costs does not
 * grow with the curve. */
#ifndef TRANSIENT_H
#define TRANSIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mission.h"

#define TRANSIENT_MOST_POINTS 300 /* a longer one does not count as flyable */
#define TRANSIENT_GRID 64         /* parts in which a curve is measured */

/* Whether a path may lead over this point. */
typedef bool (*transient_allowed_t)(const void *context, float x, float y);

/* Places along a reference that are tried, in order. */
typedef struct {
    float first, last, every;
} transient_scan_t;

typedef struct {
    mission_reference_t source, target;
    transient_scan_t starts, joins;
    bool join_early; /* rather than leaving early */
    float kappa_most, rate_most; /* curvature, and its change along the path */
    transient_allowed_t allowed;
    const void *context;
} transient_search_t;

typedef struct {
    float least_radius, bend_rate, leave_every, join_every, reach;
} transient_joining_t;

typedef enum { TRANSIENT_BUSY, TRANSIENT_FOUND, TRANSIENT_NONE } transient_status_t;

/* A quintic: coefficients of x and y by powers of u, from where it begins; arc length and speed at each grid point. */
typedef struct {
    float x[6], y[6];
    float along[TRANSIENT_GRID + 1], speeds[TRANSIENT_GRID + 1];
    uint16_t steps; /* points, less one */
    uint8_t part;   /* of the grid, that the last point lay in */
} transient_curve_t;

typedef struct {
    transient_search_t search;
    uint16_t starts, joins, start, join; /* how many there are, and which are next */
    mission_point_t *points;
    uint16_t most_points;
    transient_status_t status;
    mission_reference_t path; /* once found; it leaves the source and joins the target there: */
    float begin_s, join_s;

    mission_point_t begin, end; /* of the curve at work */
    uint8_t stretch, stage;
    uint16_t next, last; /* point of its grid or of its table that comes next, and the last that this stage looks at */
    transient_curve_t curve;
} transient_t;

/* From a circle onto a path, leaving within a round from `now` on; from a path, from `first` on, onto a circle; and from
 * a path at `begin` onto another, which it joins at `first` or later. */
transient_search_t transient_leave(const mission_reference_t *circle, float now, const mission_reference_t *onto,
                                   const transient_joining_t *joining);
transient_search_t transient_enter(const mission_reference_t *path, float first, const mission_reference_t *circle,
                                   const transient_joining_t *joining);
transient_search_t transient_stitch(const mission_reference_t *path, float begin, const mission_reference_t *onto,
                                    float first, const transient_joining_t *joining);

/* `points` must stay. Of the search `allowed` must be set, its context may be NULL. */
void transient_begin(transient_t *transient, const transient_search_t *search, mission_point_t *points,
                     uint16_t most_points);

/* Instead: the curve between two points, whatever it bends and wherever it leads; none where there is no room for it. */
void transient_between(transient_t *transient, const mission_point_t *begin, const mission_point_t *end,
                       mission_point_t *points, uint16_t most_points);

/* True when there is no more to do. */
bool transient_step(transient_t *transient);

#endif
