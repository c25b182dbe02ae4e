/* Searches over random maps and settings with arrays of exactly the size that is asked for, for the sanitizers. */
#include <stdio.h>
#include <stdlib.h>

#include "planner.h"

static uint32_t state = 1;

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

static void *array(size_t count, size_t size) {
    void *made = malloc(count * size + 1); /* one byte more, for none at all */
    if (made == NULL) exit(2);
    return made;
}

static int one_map(uint32_t *found) {
    planner_settings_t settings = {.order = (uint8_t)draw(8)};
    uint32_t side = 1u << settings.order;
    settings.coarsest = (uint8_t)draw(settings.order + 1u);
    settings.finest = (uint8_t)(settings.coarsest + draw(settings.order - settings.coarsest + 1u));
    for (uint32_t level = 0; level < PLANNER_MOST_ORDER; level++) settings.radii[level] = (uint16_t)draw(side / 4 + 2);
    settings.safe = (int16_t)(draw(65535) - 32768);
    settings.highest = (int16_t)(settings.safe + 1 + (int32_t)draw((uint32_t)(32767 - settings.safe)));
    settings.blocked_above = (int16_t)(20000 - (int32_t)draw(30000));
    settings.obstacle = (int16_t)draw(10001);
    settings.weight = (uint16_t)draw(64 * 256 + 1);
    settings.turn_rule = draw(2) != 0;

    planner_memory_t memory = {0};
    planner_sizes_t *sizes = &memory.sizes;
    if (!planner_needs(&settings, sizes)) return 0; /* more than 16 bits can count */
    int16_t *map = array(side * side, sizeof *map);
    for (uint32_t unit = 0; unit < side * side; unit++) map[unit] = (int16_t)(draw(65536) - 32768);
    settings.map = map;
    memory.approximations = array(sizes->approximations, sizeof *memory.approximations);
    memory.to_go = array(sizes->leaves, sizeof *memory.to_go);
    memory.cost = array(sizes->states, sizeof *memory.cost);
    memory.from = array(sizes->states, sizeof *memory.from);
    memory.place = array(sizes->states, sizeof *memory.place);
    memory.open = array(sizes->states, sizeof *memory.open);
    memory.times = draw(2) != 0 ? array(sizes->times, 1) : NULL;

    planner_t planner;
    if (!planner_open(&planner, &settings, &memory)) return 1;
    planner_sizes_t right = *sizes;
    sizes->states--;
    planner_t refused;
    if (planner_open(&refused, &settings, &memory)) return 1;
    *sizes = right;
    for (int search = 0; search < 4; search++) {
        for (int cell = 0; cell < 20; cell++) planner_flown(&planner, (uint16_t)draw(side + 2), (uint16_t)draw(side + 2));
        planner_begin(&planner, (int32_t)draw(16 * side + 3) - 1, (int32_t)draw(16 * side + 3) - 1,
                      (int32_t)draw(16 * side + 3) - 1, (int32_t)draw(16 * side + 3) - 1, (int8_t)(draw(256) - 128),
                      (int8_t)(draw(256) - 128));
        if (search == 2 && !planner_step(&planner)) continue; /* left in the middle */
        while (!planner_step(&planner)) {
        }
        const planner_result_t *result = planner_result(&planner);
        planner_cell_t way[8];
        if (planner_way(&planner, way, 8) != (result->cells < 8 ? result->cells : 8)) return 1;
        if ((result->status == PLANNER_FOUND) != (result->cells > 0) || result->fine > result->cells) return 1;
        *found += result->status == PLANNER_FOUND;
    }
    free(map);
    free(memory.approximations);
    free(memory.to_go);
    free(memory.cost);
    free(memory.from);
    free(memory.place);
    free(memory.open);
    free(memory.times);
    return 0;
}

int main(void) {
    uint32_t found = 0;
    for (int map = 0; map < 400; map++) {
        if (one_map(&found) != 0) {
            fprintf(stderr, "map %d\n", map);
            return 1;
        }
    }
    printf("%u\n", found);
    return 0;
}
