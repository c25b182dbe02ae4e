/* The fixed wing's application: the thirteen tasks of the paper's Table 1 and the data that they share.
 *
 *   HILS_Rx ─▶ ESTI_Atti ─▶ ESTI_Nav ─▶ CNTR ─▶ HILS_Tx          sensors to servos, in every period
 *                                        └─▶ PFOL ─▶ COMM_Tx
 *                                              └──▶ PMAN ─▶ PPLAN ─▶ PGEN ─▶ PMAN ─▶ PFOL        paths, when wanted
 *   COMM_Rx ─▶ COMM_Proc ─▶ PMAN                                 a user command
 *   STAT, in every period
 *
 * Each `wing_*` function below is the body of one task of the table in tasks.c. Tasks run to completion, so a mailbox
 * is a word that one task writes and the next one takes, and a flag is `kernel_pend`. Who shares what with a task that
 * may preempt it says so where it is kept.
 */
#ifndef WING_H
#define WING_H

#include <stdbool.h>
#include <stdint.h>

#include "cntr.h"
#include "esti_atti.h"
#include "esti_nav.h"
#include "pfol.h"

void wing_hils_tx(void);
void wing_hils_rx(void);
void wing_comm_rx(void);
void wing_comm_proc(void);
void wing_esti_atti(void);
void wing_esti_nav(void);
void wing_cntr(void);
void wing_pfol(void);
void wing_comm_tx(void);
void wing_pgen(void);
void wing_pman(void);
void wing_stat(void);
void wing_pplan(void);

/* What the laws reckon with; layouts as in aeroloop.estimation.wing and aeroloop.control. */
enum { EST_X, EST_Y, EST_Z, EST_VX, EST_VY, EST_VZ, EST_ROLL, EST_PITCH, EST_YAW, EST_AIRSPEED = 12, EST_COURSE,
       EST_GROUND_SPEED };
enum { WANTED_ROLL, WANTED_HEIGHT, WANTED_AIRSPEED };

typedef struct {
    uint16_t cycle;
    uint32_t t_ms;
    float gyro_B[3], accel_B[3], field_B[3];
    float pressures[2]; /* static, dynamic */
    bool fix;
    int32_t lat_1e7, lon_1e7, alt_mm;
    float vel_W[3];
    uint64_t period_ns; /* when the control period began that brought them */
} sensors_t;

/* hils.c */
void hils_init(void);
const sensors_t *hils_sensors(void); /* of the cycle under way: do not change until its servos are out */
bool hils_heard(void); /* any sensors since the start */
bool hils_idle(void); /* no sensors wait for their servos */
uint32_t hils_refused(void);
uint32_t hils_missed(void);
float hils_worst_latency_s(void);

/* fly.c */
void fly_init(void);
void fly_hang(void); /* the next run of CNTR never ends */
bool fly_ready(void); /* position is known */
const float *fly_estimate(void); /* ESTI_NAV_ESTIMATE values */
const float *fly_command(void);

/* stat.c */
void stat_planning(bool on); /* a plan is under way from now on, or no longer */

#endif
