#include "country.h"

#include <math.h>

float country_cell_m(const country_t *country) {
    return country->side / (float)(1u << country->planner->finest);
}

int32_t country_cell(const country_t *country, float along_m) {
    return (int32_t)floorf((along_m + country->side / 2.0f) / country_cell_m(country));
}

static int32_t half(int32_t value) {
    return (value - (value & 1)) / 2;
}

static int32_t lifted(int32_t left, int32_t right) {
    return left + half(right - left);
}

/* The approximation of a square of units, as the planner has it; a fine cell is a few units wide. */
static int32_t mean_of(const planner_settings_t *planner, int32_t col, int32_t row, int32_t units) {
    if (units == 1)
        return planner->map[row * (1 << planner->order) + col];
    int32_t part = units / 2;
    return lifted(lifted(mean_of(planner, col, row, part), mean_of(planner, col + part, row, part)),
                  lifted(mean_of(planner, col, row + part, part), mean_of(planner, col + part, row + part, part)));
}

bool country_free(const country_t *country, int32_t col, int32_t row) {
    const planner_settings_t *planner = country->planner;
    int32_t side = 1 << planner->finest, units = 1 << (planner->order - planner->finest);
    return col >= 0 && row >= 0 && col < side && row < side &&
           mean_of(planner, col * units, row * units, units) <= planner->blocked_above;
}

country_box_t country_around(const country_t *country, const mission_reference_t *circle, float room_m) {
    float reach = circle->radius + room_m;
    return (country_box_t){country_cell(country, circle->x - reach), country_cell(country, circle->x + reach),
                           country_cell(country, circle->y - reach), country_cell(country, circle->y + reach)};
}

static bool holds(const country_part_t *part, int32_t col, int32_t row) {
    for (unsigned i = 0; i < part->cells_count; i++)
        if (part->cells[i].col == col && part->cells[i].row == row)
            return true;
    for (unsigned i = 0; i < part->around_count; i++) {
        const country_box_t *box = &part->around[i];
        if (box->west <= col && col <= box->east && box->south <= row && row <= box->north)
            return country_free(&part->country, col, row);
    }
    return false;
}

bool country_allowed(const void *context, float x, float y) {
    const country_part_t *part = context;
    const country_t *country = &part->country;
    int32_t west = country_cell(country, x - COUNTRY_SPARE_M), east = country_cell(country, x + COUNTRY_SPARE_M);
    int32_t south = country_cell(country, y - COUNTRY_SPARE_M), north = country_cell(country, y + COUNTRY_SPARE_M);
    return holds(part, west, south) && (east == west || holds(part, east, south)) &&
           (north == south || (holds(part, west, north) && (east == west || holds(part, east, north))));
}
