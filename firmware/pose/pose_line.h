/* Pose packets on the second line: header | type | length | payload | CRC-16, collected to sets.
 *
 * There is no escaping and no sequence number in the paper's types: after a bad packet the search goes on one byte
 * farther. A set is complete when each of its types came since the last complete set. pose_config.h has the format;
 * aeroloop.protocols.pose and pose_sets are the same in Python.
 */
#ifndef POSE_LINE_H
#define POSE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pose_config.h"

enum {
    POSE_ATTITUDE = 1,
    POSE_POSITION,
    POSE_RATES,
    POSE_MOTORS,
    POSE_VELOCITY,
    POSE_FORCE,
    POSE_STATUS,
    POSE_TYPE_COUNT
};
enum { POSE_LONGEST = 18, POSE_MOTORS_FRAME = 14 };

typedef struct {
    uint32_t frames_in;
    uint32_t bytes_in;
    uint32_t bad_checksums;
    uint32_t malformed;
    uint32_t skipped_bytes;
    uint32_t implausible; /* good packets with impossible numbers */
    uint32_t other;       /* good packets of types that are not in the set */
    uint32_t sets;
    uint32_t lost; /* sets that the running number of type 7 skipped */
} pose_counters_t;

typedef struct {
    float attitude[3], rates[3], velocity[3], force[3];
    int32_t place[3]; /* longitude, latitude in 1e-7 deg, altitude in mm */
    uint32_t time_ms, number;
} pose_set_t;

typedef struct {
    uint8_t bytes[POSE_LONGEST];
    uint32_t count;
    uint32_t came; /* a bit for each type since the last complete set */
    bool numbered;
    uint32_t number; /* of the last set */
    pose_set_t next, set;
    pose_counters_t counters;
} pose_line_t;

void pose_line_init(pose_line_t *line);
bool pose_line_take(pose_line_t *line, uint8_t byte); /* true when it completes a set, which is then in `set` */
size_t pose_motors(const uint16_t values[4], uint8_t frame[POSE_MOTORS_FRAME]); /* type 4; returns its size */

#endif
