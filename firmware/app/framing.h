/* The byte frame of the tilt-rotor paper, after PPP: 0x7E | escaped(data + Fletcher-16) | 0x7E.
 *
 * 0x7E and 0x7D inside are sent as 0x7D followed by the byte XOR 0x20. The checksum sums modulo 255 over the unescaped
 * data and is sent low byte first. It does not distinguish 0x00 from 0xFF: plausible.h is the next check.
 */
#ifndef FRAMING_H
#define FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interface.h"

#define CHECKSUM_SIZE 2u
#define LONGEST_FRAME (2u + 2u * (LONGEST_DATA + CHECKSUM_SIZE))

/* What went over a link, at this end, in the order of the `counters` message. */
typedef struct {
    uint32_t frames_in;
    uint32_t frames_out;
    uint32_t bytes_in;
    uint32_t bytes_out;
    uint32_t bad_checksums;
    uint32_t malformed;
    uint32_t lost;
    uint32_t duplicates;
    uint32_t late;
    uint32_t implausible;
} counters_t;

/* Frames up to LONGEST_DATA bytes; `frame` has room for LONGEST_FRAME. Returns the size of the frame. */
size_t frame_encode(const uint8_t *data, size_t count, uint8_t *frame);

/* Bytes in, checked data out. The bytes between two flags are a frame, unless there are none. */
typedef struct {
    uint8_t data[LONGEST_DATA + CHECKSUM_SIZE];
    size_t longest;  /* data and checksum, as this link sends them */
    size_t count;    /* unescaped bytes so far */
    size_t raw;      /* bytes since the last flag */
    bool escaped;    /* the last byte was an escape */
    bool broken;     /* a wrong escape or too much data: to be counted at the closing flag */
    bool skipping;   /* longer than any frame and counted already: nothing is of interest before the next flag */
} deframer_t;

void deframer_init(deframer_t *deframer, size_t longest_data);

/* Takes one byte. When it completes a good frame, returns the size of its data, which stays in deframer->data until the
   next call; otherwise 0. */
size_t deframer_take(deframer_t *deframer, uint8_t byte, counters_t *counters);

#endif
