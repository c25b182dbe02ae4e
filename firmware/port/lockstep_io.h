/* The bytes behind the lockstep port: semihosting files in the emulator, standard streams in the host build. */
#ifndef LOCKSTEP_IO_H
#define LOCKSTEP_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits for bytes; returns their number, at least one and at most `room`. At the end of input, ends the program. */
size_t lockstep_read(uint8_t *bytes, size_t room);

/* All of the bytes in one write; false if there is no reader. */
bool lockstep_write(const uint8_t *bytes, size_t count);

#endif
