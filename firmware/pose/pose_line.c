#include "pose_line.h"

#include <math.h>
#include <string.h>

#include "bytes.h"

enum { HEAD = 4, PAYLOAD = 12, MOTORS_PAYLOAD = 8, CHECKSUM = 2, MOST_ALTITUDE_MM = 100000000 };

static const uint16_t crc_table[256] = POSE_CRC_TABLE;

static uint16_t checksum(const uint8_t *data, size_t count)
{
    uint16_t crc = POSE_CRC_INIT;
    for (size_t i = 0; i < count; i++) {
#if POSE_CRC_REFLECTED
        crc = (uint16_t)(crc >> 8 ^ crc_table[(crc ^ data[i]) & 0xFFu]);
#else
        crc = (uint16_t)((uint32_t)crc << 8 ^ crc_table[(crc >> 8 ^ data[i]) & 0xFFu]);
#endif
    }
    return crc;
}

static uint16_t sent_checksum(const uint8_t *at)
{
#if POSE_CRC_LOW_FIRST
    return (uint16_t)(at[0] | at[1] << 8);
#else
    return (uint16_t)(at[1] | at[0] << 8);
#endif
}

static size_t payload_size(uint8_t type)
{
    if (type >= POSE_TYPE_COUNT || !(POSE_KNOWN_TYPES & (1u << type)))
        return 0;
    return type == POSE_MOTORS ? MOTORS_PAYLOAD : PAYLOAD;
}

void pose_line_init(pose_line_t *line) { memset(line, 0, sizeof *line); }

static bool get_finite(const uint8_t *at, float values[3])
{
    float found[3];
    get_floats(at, found, 3);
    for (unsigned i = 0; i < 3; i++)
        if (!isfinite(found[i]))
            return false;
    memcpy(values, found, sizeof found);
    return true;
}

#if POSE_POSITION_FLOAT
static bool get_place(const uint8_t *at, int32_t place[3])
{
    float found[3];
    if (!get_finite(at, found) || fabsf(found[0]) > 180.0f || fabsf(found[1]) > 90.0f || fabsf(found[2]) > 1e5f)
        return false;
    for (unsigned i = 0; i < 3; i++)
        place[i] = (int32_t)rint((double)found[i] / (i < 2 ? 1e-7 : 1e-3));
    return true;
}
#else
static bool get_place(const uint8_t *at, int32_t place[3])
{
    int32_t found[3];
    for (unsigned i = 0; i < 3; i++)
        found[i] = (int32_t)get_u32(at + 4 * i);
    static const int32_t most[3] = {1800000000, 900000000, MOST_ALTITUDE_MM};
    for (unsigned i = 0; i < 3; i++)
        if (found[i] > most[i] || found[i] < -most[i])
            return false;
    memcpy(place, found, sizeof found);
    return true;
}
#endif

static bool get_status(const uint8_t *at, pose_set_t *set)
{
    if (get_u32(at + 8) != 0)
        return false;
    set->time_ms = get_u32(at);
    set->number = get_u32(at + 4);
    return true;
}

static bool decode(uint8_t type, const uint8_t *payload, pose_set_t *set)
{
    switch (type) {
    case POSE_ATTITUDE:
        return get_finite(payload, set->attitude);
    case POSE_POSITION:
        return get_place(payload, set->place);
    case POSE_RATES:
        return get_finite(payload, set->rates);
    case POSE_VELOCITY:
        return get_finite(payload, set->velocity);
    case POSE_FORCE:
        return get_finite(payload, set->force);
    case POSE_STATUS:
        return get_status(payload, set);
    default:
        return true;
    }
}

/* A number that did not rise by less than half of its range is a restarted sender's, and no loss. */
static void count_lost(pose_line_t *line)
{
    uint32_t gap = line->set.number - line->number;
    if (line->numbered && gap > 0 && gap < 0x80000000u)
        line->counters.lost += gap - 1u;
    line->numbered = true;
    line->number = line->set.number;
}

static bool collect(pose_line_t *line, uint8_t type, const uint8_t *payload)
{
    if (!decode(type, payload, &line->next)) {
        line->counters.implausible++;
        return false;
    }
    if (!(POSE_SET & (1u << type))) {
        line->counters.other++;
        return false;
    }
    line->came |= 1u << type;
    if (line->came != POSE_SET)
        return false;
    line->came = 0;
    line->set = line->next;
    line->counters.sets++;
    if (POSE_SET & (1u << POSE_STATUS))
        count_lost(line);
    return true;
}

static void drop(pose_line_t *line, uint32_t count)
{
    line->count -= count;
    memmove(line->bytes, line->bytes + count, line->count);
}

static void skip(pose_line_t *line)
{
    line->counters.skipped_bytes++;
    drop(line, 1);
}

bool pose_line_take(pose_line_t *line, uint8_t byte)
{
    static const uint8_t header[2] = POSE_HEADER;
    bool complete = false;
    line->counters.bytes_in++;
    line->bytes[line->count++] = byte;
    while (line->count > 0) {
        if (line->bytes[0] != header[0] || (line->count > 1 && line->bytes[1] != header[1])) {
            skip(line);
            continue;
        }
        if (line->count < HEAD)
            break;
        uint8_t type = line->bytes[2];
        size_t size = payload_size(type);
        if (size == 0 || size != line->bytes[3]) {
            line->counters.malformed++;
            skip(line);
            continue;
        }
        if (line->count < HEAD + size + CHECKSUM)
            break;
        if (checksum(line->bytes + 2, 2 + size) != sent_checksum(line->bytes + HEAD + size)) {
            line->counters.bad_checksums++;
            skip(line);
            continue;
        }
        line->counters.frames_in++;
        complete = collect(line, type, line->bytes + HEAD) || complete;
        drop(line, (uint32_t)(HEAD + size + CHECKSUM));
    }
    return complete;
}

size_t pose_motors(const uint16_t values[4], uint8_t frame[POSE_MOTORS_FRAME])
{
    static const uint8_t header[2] = POSE_HEADER;
    uint8_t *at = put_u8(put_u8(frame, header[0]), header[1]);
    at = put_u8(put_u8(at, POSE_MOTORS), MOTORS_PAYLOAD);
    for (unsigned i = 0; i < 4; i++)
        at = put_u16(at, values[i]);
    uint16_t crc = checksum(frame + 2, 2 + MOTORS_PAYLOAD);
#if POSE_CRC_LOW_FIRST
    put_u16(at, crc);
#else
    put_u8(put_u8(at, (uint8_t)(crc >> 8)), (uint8_t)crc);
#endif
    return POSE_MOTORS_FRAME;
}
