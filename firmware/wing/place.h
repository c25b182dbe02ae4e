/* From what a satellite receiver says to metres east, north and up of the middle of the map: the tangent plane of
 * aeroloop.estimation.geodesy, to second order, which on a map of some kilometres is good to centimetres. */
#ifndef PLACE_H
#define PLACE_H

#include <stdint.h>

void place_local(int32_t lat_1e7, int32_t lon_1e7, int32_t alt_mm, float pos_W[3]);

#endif
