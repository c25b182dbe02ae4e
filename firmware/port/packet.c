#include "packet.h"

#include <string.h>

#include "bytes.h"
#include "hal.h"
#include "interface.h"
#include "lockstep_io.h"

/* Reads until that much of the packet has arrived. */
static void await(packet_t *packet, size_t count)
{
    while (packet->count < count)
        packet->count += lockstep_read(packet->bytes + packet->count, packet->room - packet->count);
}

step_t packet_await(packet_t *packet, bool grants)
{
    await(packet, STEP_HEADER);
    const uint8_t *bytes = packet->bytes;
    step_t step = {
        .flags = bytes[1],
        .n_ground = get_u16(bytes + 2),
        .n_link = get_u16(bytes + 4),
        .t_ns = get_u64(bytes + 8),
        .timer_ns = get_u64(bytes + 16),
        .ground = bytes + STEP_HEADER,
    };
    step.link = step.ground + step.n_ground;
    unsigned known = STEP_HANG | STEP_RESET | (grants ? STEP_GRANT : STEP_TIMER);
    bool legal = bytes[0] == PACKET_STEP && (step.flags & ~known) == 0 && get_u16(bytes + 6) == 0;
    size_t most = (packet->room - STEP_HEADER) / 2;
    if (!legal || grants != ((step.flags & STEP_GRANT) != 0) || step.n_ground > most || step.n_link > most)
        hal_reset(RESET_CAUSE_FAULT); /* there is no telling where the next packet begins */
    await(packet, STEP_HEADER + (size_t)step.n_ground + step.n_link);
    return step;
}

void packet_drop(packet_t *packet, const step_t *step)
{
    size_t used = STEP_HEADER + (size_t)step->n_ground + step->n_link;
    packet->count -= used;
    memmove(packet->bytes, packet->bytes + used, packet->count);
}

uint8_t *packet_reply(uint8_t header[REPLY_HEADER], const reply_t *reply)
{
    uint8_t *at = put_u8(header, reply->kind);
    at = put_u8(at, reply->flags);
    at = put_u8(at, reply->mode);
    at = put_u8(at, 0);
    at = put_u16(at, reply->n_first);
    at = put_u16(at, reply->n_second);
    at = put_u32(at, reply->busy_ns);
    at = put_u32(at, reply->spent_ns);
    return put_u32(at, reply->refused);
}

uint32_t packet_ns(uint64_t ticks)
{
    uint64_t ns = ticks * 1000u / hal_ticks_per_us;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}
