/* The hardware layer on registers that are memory: what the processor itself would do is left out. */
#include <stdint.h>
#include <string.h>

#include "cpu.h"
#include "hal.h"
#include "kernel.h"

uint8_t peripherals[0x24000], system_space[0x1000];
uint32_t times_received;

void cpu_barrier(void) {}
uint32_t hal_lock(void) { return 0; }
void hal_unlock(uint32_t state) { (void)state; }
void kernel_dispatch(unsigned task) { (void)task; }

void count_received(void) { times_received++; }
