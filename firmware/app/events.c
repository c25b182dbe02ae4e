#include "events.h"

#include <string.h>

#include "hal.h"

static struct {
    event_t queue[EVENTS_MOST];
    unsigned first, count;
    uint32_t dropped;
} events;

void events_init(void) { memset(&events, 0, sizeof events); }

void event_say(uint8_t code, float value)
{
    uint32_t state = hal_lock();
    if (events.count < EVENTS_MOST) {
        event_t *entry = &events.queue[(events.first + events.count++) % EVENTS_MOST];
        entry->code = code;
        entry->value = value;
    } else {
        events.dropped++;
    }
    hal_unlock(state);
}

bool event_take(event_t *event)
{
    uint32_t state = hal_lock();
    bool some = events.count > 0;
    if (some) {
        *event = events.queue[events.first];
        events.first = (events.first + 1) % EVENTS_MOST;
        events.count--;
    }
    hal_unlock(state);
    return some;
}

uint32_t events_dropped(void)
{
    uint32_t state = hal_lock();
    uint32_t dropped = events.dropped;
    events.dropped = 0;
    hal_unlock(state);
    return dropped;
}
