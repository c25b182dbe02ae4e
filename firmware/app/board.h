/* Data of the board for the statistics task. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

int64_t board_uptime_ns(void); /* since the first time that the port gave after the start */
uint32_t board_uptime_ms(void);
uint32_t board_overruns(void); /* cycles whose work took longer than the period */
float board_worst_cycle_s(void);
float board_ticks_s(uint64_t ticks);

#endif
