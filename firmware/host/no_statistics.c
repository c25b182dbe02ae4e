/* In the place of STAT on rung sil, which has no processor of the board's to measure. */
#include "wing.h"

void stat_planning(bool on) { (void)on; }

void wing_stat(void) {}
