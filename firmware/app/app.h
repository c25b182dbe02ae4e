/* The tilt-rotor application: the paper's four activities and what belongs to them.
 *
 *   cycle ─▶ (plant answers) ─▶ get sensors ─▶ control ─▶ send actuators ─▶ statistics
 *   get references when some arrive
 *
 * Each function below is the body of one task of the table in tasks.c; ports never call them directly.
 */
#ifndef APP_H
#define APP_H

#include <stdbool.h>
#include <stdint.h>

void app_init(uint8_t reset_cause);
void app_cycle(void);
void app_get_references(void);
void app_get_sensors(void);
void app_control(void);
void app_send_actuators(void);
void app_statistics(void);

uint8_t app_mode(void);  /* MODE_* */
bool app_answered(void); /* this cycle's sensors have arrived */
void app_hang(void);     /* fault injection, emulator only: the next control task never ends */

#endif
