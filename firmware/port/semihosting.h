/* Arm semihosting: how a program in the emulator reaches the machine it runs on. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

enum { SYS_OPEN = 0x01, SYS_WRITE0 = 0x04, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT = 0x18 };
#define SEMIHOSTING_DONE 0x20026u
#define SEMIHOSTING_FAILED 0x20023u

static inline int semihosting_call(int operation, const void *argument)
{
    register int r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

_Noreturn static inline void semihosting_exit(uint32_t reason)
{
    for (;;)
        semihosting_call(SYS_EXIT, (const void *)reason);
}

#endif
