/* The registers of the part as memory of this machine. */
#include <stdint.h>
extern uint8_t peripherals[0x24000], system_space[0x1000];
#define PERIPHERAL_BASE ((uintptr_t)peripherals)
#define SYSTEM_BASE ((uintptr_t)system_space)
