/* How bytes and time reach the application. One of three ports is linked:
 *
 *   uart.c      serial lines and a timer: a physical board, or the emulator in real time
 *   lockstep.c  step packets: time advances when the bench requests it. The emulator reads them through semihosting,
 *               a test build through standard input
 *
 * The application is the same for both.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Simulated time in lockstep, time since the start elsewhere. */
uint64_t port_now_ns(void);

/* Reads bytes received on a line (HAL_LINE_*); returns 0 if there are none. */
size_t port_read(unsigned line, uint8_t *bytes, size_t room);

/* Whole frames to the plant. `opens` marks those that open a cycle (start, request): in lockstep the bench may have
   sent them ahead. False when there was no room and the frame is lost. */
bool port_send(const uint8_t *frame, size_t count, bool opens);

/* Runs the application; does not return. */
void port_run(void);

#endif
