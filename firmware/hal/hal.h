/* The hardware, as little of it as the application needs. Two targets implement it: `qemu` and `discovery`. */
#ifndef HAL_H
#define HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Clocks, interrupt priorities and the free-running counter; returns why the board started (RESET_CAUSE_*). */
uint8_t hal_init(void);

/* Clocks of the board: one that does not start is replaced by a less accurate one, without waiting. */
enum { HAL_CLOCK_CRYSTAL, HAL_CLOCK_INTERNAL, HAL_CLOCK_SLOW };
uint8_t hal_clock(void);

/* A free-running 32-bit counter for execution times: fine, and it wraps. The emulator's counts 1 GHz
   (of instruction-count time in lockstep, of the host's clock in real time), silicon's 84 MHz. */
uint32_t hal_ticks(void);
extern uint32_t hal_ticks_per_us; /* known once hal_init is done: a board whose clock failed runs slower */

/* Time since the start; derived from the counter, so it must be called at least once per wrap (the tick does). */
uint64_t hal_now_ns(void);

/* Calls `tick` every period_us (65 ms at most) from an interrupt above all tasks. */
void hal_tick_start(uint32_t period_us, void (*tick)(void));

/* The two serial lines. An interrupt puts received bytes into a ring; `received` is called from that interrupt when the
   byte `end` is received, and when the ring is half full: waking a task per byte would cost more than the task. */
enum { HAL_LINE_BOARD, HAL_LINE_REFERENCE, HAL_LINE_COUNT };
void hal_line_open(unsigned line, uint32_t baud, uint8_t end, void (*received)(void));
size_t hal_line_read(unsigned line, uint8_t *bytes, size_t room);
/* All of the bytes, or none when there is no room: a frame is never cut. False when it was dropped. */
bool hal_line_write(unsigned line, const uint8_t *bytes, size_t count);
uint32_t hal_line_dropped(unsigned line); /* bytes received while the ring was full, or with errors */

/* Watchdog: unless kicked within timeout_us, the board restarts with RESET_CAUSE_WATCHDOG. */
void hal_watchdog_start(uint32_t timeout_us);
void hal_watchdog_kick(void);
void hal_reset(uint8_t cause);
void hal_sleep(void); /* until the next interrupt */

/* Interrupts that run tasks: the NVIC is the scheduler. Priority 1 is the highest. */
void hal_task_enable(unsigned slot, uint8_t priority);
void hal_task_pend(unsigned slot);
uint32_t hal_lock(void); /* masks all tasks; hand what it returns to hal_unlock */
void hal_unlock(uint32_t state);

size_t hal_stack_size(void);
size_t hal_stack_used(void); /* most that was ever in use */

#endif
