#pragma once
/* A bus in one process: the newest message of each topic, and one flag per topic whether it is advertised at all. */
#include <px4_platform_common/defines.h>

struct orb_metadata {
    const char *o_name;
    uint16_t o_size;
    int index;
};

#define ORB_ID(_name) (&__orb_##_name)
typedef const orb_metadata *orb_id_t;
typedef void *orb_advert_t;

namespace px4 { class WorkItem; }

void bus_publish(orb_id_t topic, const void *message);
void bus_advertise(orb_id_t topic, bool advertised);
bool bus_advertised(orb_id_t topic);
unsigned bus_generation(orb_id_t topic);
void bus_copy(orb_id_t topic, void *message);
void bus_listen(orb_id_t topic, px4::WorkItem *item); /* nullptr: nobody */
