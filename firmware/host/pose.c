/* What a program of this host asks of the drivers beyond drivers.h: the state is a block of memory to it. */
#include "drivers.h"

#include <string.h>

size_t host_size(void) { return sizeof(drivers_t); }

void host_counts(const drivers_t *drivers, uint32_t *counts) { memcpy(counts, &drivers->line.counters, sizeof drivers->line.counters); }

uint32_t host_refused(const drivers_t *drivers) { return drivers->refused; }

bool host_stale(const drivers_t *drivers) { return drivers->stale; }

bool host_failed(const drivers_t *drivers) { return drivers->failed; }

float host_parameter(const drivers_t *drivers, unsigned number) { return drivers->parameters[number]; }

bool host_latest(const drivers_t *drivers, unsigned class, unsigned source, sample_t *sample)
{
    const class_t *own = &drivers->classes[class];
    *sample = source == SOURCE_SOFT ? own->soft : own->hard;
    return source == SOURCE_SOFT ? own->known : sample->count != 0;
}
