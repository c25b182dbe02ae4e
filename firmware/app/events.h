/* Events for the log, queued by any task until the statistics task sends them. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_MOST 16

typedef struct {
    uint8_t code; /* EVENT_* */
    float value;
} event_t;

void events_init(void);
void event_say(uint8_t code, float value); /* when there is no room, this newest one is dropped and counted */
bool event_take(event_t *event);           /* the oldest; false when there is none */
uint32_t events_dropped(void);             /* since the last call */

#endif
