/* How bytes and time reach the application. One of three ports is linked:
 *
 *   uart.c      serial lines and a timer: the board on a desk, or the emulator in real time
 *   lockstep.c  step packets: time moves when the bench says so. The emulator reads them through semihosting,
 *               a test build through standard input
 *
 * The application does not know which.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Simulated time in lockstep, time since the start elsewhere. */
uint64_t port_now_ns(void);

/* What has come on a line (HAL_LINE_*) and was not read yet; 0 when nothing. */
size_t port_read(unsigned line, uint8_t *bytes, size_t room);

/* Whole frames to the plant. `opens` marks those that open a cycle (start, request): in lockstep the bench may have
   sent them ahead. False when there was no room and the frame is lost. */
bool port_send(const uint8_t *frame, size_t count, bool opens);

/* Runs the application; does not return. */
void port_run(void);

#endif
