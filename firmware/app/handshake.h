/* The start message: interface, image and uptime of the board. The bench refuses one that does not match. */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stdint.h>

#include "bytes.h"
#include "image.h"
#include "interface.h"

static inline void put_start(uint8_t data[START_SIZE], uint8_t reset_cause, uint32_t uptime_ms)
{
    uint8_t *at = put_u8(data, MESSAGE_START);
    at = put_u8(at, reset_cause);
    at = put_u16(at, INTERFACE_REVISION);
    at = put_u32(at, INTERFACE_HASH);
    at = put_u32(at, IMAGE_ID);
    put_u32(at, uptime_ms);
}

#endif
