#include "framing.h"

#include <string.h>

enum { FLAG = 0x7E, ESCAPE = 0x7D, ESCAPE_BIT = 0x20 };

static uint16_t fletcher16(const uint8_t *data, size_t count)
{
    /* One reduction at the end is enough: the second sum of LONGEST_DATA bytes is far from 32 bits. */
    uint32_t low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        low += data[i];
        high += low;
    }
    return (uint16_t)(high % 255u << 8 | low % 255u);
}

static uint8_t *escape(uint8_t *out, uint8_t byte)
{
    if (byte == FLAG || byte == ESCAPE) {
        *out++ = ESCAPE;
        byte ^= ESCAPE_BIT;
    }
    *out++ = byte;
    return out;
}

size_t frame_encode(const uint8_t *data, size_t count, uint8_t *frame)
{
    uint16_t checksum = fletcher16(data, count);
    uint8_t *out = frame;
    *out++ = FLAG;
    for (size_t i = 0; i < count; i++)
        out = escape(out, data[i]);
    out = escape(out, (uint8_t)checksum);
    out = escape(out, (uint8_t)(checksum >> 8));
    *out++ = FLAG;
    return (size_t)(out - frame);
}

void deframer_init(deframer_t *deframer, size_t longest_data)
{
    memset(deframer, 0, sizeof *deframer);
    deframer->longest = longest_data + CHECKSUM_SIZE;
}

/* The frame ends here: the size of its data, or 0 and a count of what was wrong with it. */
static size_t check(const deframer_t *deframer, counters_t *counters)
{
    if (deframer->skipping || deframer->raw == 0)
        return 0;
    if (deframer->broken || deframer->escaped || deframer->count <= CHECKSUM_SIZE) {
        counters->malformed++;
        return 0;
    }
    size_t size = deframer->count - CHECKSUM_SIZE;
    const uint8_t *sent = deframer->data + size;
    if (fletcher16(deframer->data, size) != (sent[0] | sent[1] << 8)) {
        counters->bad_checksums++;
        return 0;
    }
    counters->frames_in++;
    return size;
}

static void keep(deframer_t *deframer, uint8_t byte)
{
    if (deframer->escaped) {
        byte ^= ESCAPE_BIT;
        deframer->escaped = false;
        if (byte != FLAG && byte != ESCAPE)
            deframer->broken = true;
    } else if (byte == ESCAPE) {
        deframer->escaped = true;
        return;
    }
    if (deframer->count == deframer->longest)
        deframer->broken = true;
    else
        deframer->data[deframer->count++] = byte;
}

size_t deframer_take(deframer_t *deframer, uint8_t byte, counters_t *counters)
{
    counters->bytes_in++;
    if (byte == FLAG) {
        size_t size = check(deframer, counters);
        deframer->count = deframer->raw = 0;
        deframer->escaped = deframer->broken = deframer->skipping = false;
        return size;
    }
    if (deframer->skipping)
        return 0;
    if (++deframer->raw > 2 * deframer->longest) {
        counters->malformed++;
        deframer->skipping = true;
        return 0;
    }
    keep(deframer, byte);
    return 0;
}
