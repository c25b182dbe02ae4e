/* Step packets: what a board in lockstep exchanges with the bench. Little-endian; aeroloop.boards.steps is the other side.
 *
 *   bench -> board   u8 kind 1, u8 flags, u16 n_ground, u16 n_link, u16 0, u64 t_ns, u64 timer_ns, the bytes
 *                    flags: 1 the timer is due at timer_ns, 2 hang, 4 reset,
 *                           8 grant: a control period of processor time begins at t_ns
 *   board -> bench   u8 kind, u8 flags, u8 mode, u8 0, u16 n_first, u16 n_second, u32 busy_ns, u32 spent_ns,
 *                    u32 refused, the bytes
 *                    kind 1, a reply; flags: 1 a command for this cycle's sensors is among the bytes,
 *                                            2 the period was spent and there is more to do
 *                    kind 2, the board has started; flags: why
 *                    refused: frames since the start that were no good
 *
 * lockstep.c works until nothing is left to do: its first bytes are sent now, its second open a cycle. budget.c works
 * in granted time: its first bytes are the simulator's line, its second the ground's.
 */
#ifndef PACKET_H
#define PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PACKET_STEP = 1, PACKET_REPLY = 1, PACKET_BOOT = 2 };
enum { STEP_TIMER = 1, STEP_HANG = 2, STEP_RESET = 4, STEP_GRANT = 8 };
enum { REPLY_COMMAND = 1, REPLY_SPENT = 2 };
enum { STEP_HEADER = 24, REPLY_HEADER = 20 };

typedef struct {
    uint8_t *bytes; /* room for the header and as much for each of the two lines */
    size_t room;
    size_t count; /* bytes that have come */
} packet_t;

typedef struct {
    uint8_t flags;
    uint16_t n_ground, n_link;
    uint64_t t_ns, timer_ns;
    const uint8_t *ground, *link; /* in the packet, until it is dropped */
} step_t;

typedef struct {
    uint8_t kind, flags, mode;
    uint16_t n_first, n_second;
    uint32_t busy_ns, spent_ns, refused;
} reply_t;

/* Waits for the next step, of a bench that grants time or of one that does not; resets the board on any other. */
step_t packet_await(packet_t *packet, bool grants);
void packet_drop(packet_t *packet, const step_t *step);

/* Writes the header; returns where the bytes follow. */
uint8_t *packet_reply(uint8_t header[REPLY_HEADER], const reply_t *reply);

uint32_t packet_ns(uint64_t ticks); /* as long as they take, or the most that fits */

#endif
