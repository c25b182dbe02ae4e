/* Step packets through the emulator: two named pipes in the folder it was started in, by Arm semihosting. */
#include "semihosting.h"

#include <string.h>

#include "lockstep_io.h"

enum { OPEN_RB = 1, OPEN_WB = 5 };

#define OPEN 0x0F1F0u

/* Kept over a reset, as the emulator keeps what is open: so that any number of restarts needs no more. */
__attribute__((section(".noinit"))) static struct {
    uint32_t open;
    int in, out;
} pipes;

static int open_pipe(const char *name, uint32_t mode)
{
    const uint32_t argument[] = {(uint32_t)name, mode, (uint32_t)strlen(name)};
    int handle = semihosting_call(SYS_OPEN, argument);
    if (handle < 0)
        semihosting_exit(SEMIHOSTING_FAILED);
    return handle;
}

/* Opening a pipe waits for the bench's end of it: first the one that the bench writes, then the one it reads. */
static void open_pipes(void)
{
    if (pipes.open != OPEN) {
        pipes.in = open_pipe("board.in", OPEN_RB);
        pipes.out = open_pipe("board.out", OPEN_WB);
        pipes.open = OPEN;
    }
}

/* One packet: the bench writes it whole, and the next one only after the reply. The end of the input is the end of
   the emulator. */
size_t lockstep_read(uint8_t *bytes, size_t room)
{
    open_pipes();
    const uint32_t argument[] = {(uint32_t)pipes.in, (uint32_t)bytes, (uint32_t)room};
    int left_over = semihosting_call(SYS_READ, argument);
    if (left_over < 0)
        semihosting_exit(SEMIHOSTING_FAILED);
    if ((size_t)left_over >= room)
        semihosting_exit(SEMIHOSTING_DONE);
    return room - (size_t)left_over;
}

bool lockstep_write(const uint8_t *bytes, size_t count)
{
    open_pipes();
    const uint32_t argument[] = {(uint32_t)pipes.out, (uint32_t)bytes, (uint32_t)count};
    return semihosting_call(SYS_WRITE, argument) == 0;
}
