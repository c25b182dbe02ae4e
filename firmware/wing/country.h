/* What path generation asks of the map: which fine cells are free, and whether a curve stays in those it may use. */
#ifndef COUNTRY_H
#define COUNTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "mission.h"
#include "planner.h"

/* Cells from west to east and from south to north, the last ones included. */
typedef struct {
    int32_t west, east, south, north;
} country_box_t;

typedef struct {
    const planner_settings_t *planner; /* the map, and what is blocked on it */
    float side;                        /* of the map, m */
} country_t;

/* Free cells around circles, and the cells of a channel. */
typedef struct {
    country_t country;
    country_box_t around[2];
    uint8_t around_count;
    const planner_cell_t *cells;
    uint16_t cells_count;
} country_part_t;

float country_cell_m(const country_t *country);
int32_t country_cell(const country_t *country, float along_m); /* column or row of a place */
bool country_free(const country_t *country, int32_t col, int32_t row);

/* Cells within so many metres of a circle. */
country_box_t country_around(const country_t *country, const mission_reference_t *circle, float room_m);

/* Whether a point lies in such a part, so far inside it; the context is a country_part_t. */
#define COUNTRY_SPARE_M 20.0f
bool country_allowed(const void *part, float x, float y);

#endif
