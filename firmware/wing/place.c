#include "place.h"

#include "config.h"

#define ROUND_1E7 3600000000ll

/* Differences are taken in whole numbers: single precision holds them, but not the degrees themselves. */
void place_local(int32_t lat_1e7, int32_t lon_1e7, int32_t alt_mm, float pos_W[3])
{
    int64_t away_1e7 = (int64_t)lon_1e7 - HOME_LON_1E7;
    if (away_1e7 > ROUND_1E7 / 2)
        away_1e7 -= ROUND_1E7;
    if (away_1e7 < -ROUND_1E7 / 2)
        away_1e7 += ROUND_1E7;
    float lat = (float)((int64_t)lat_1e7 - HOME_LAT_1E7), lon = (float)away_1e7, up_m = (float)alt_mm * 1e-3f;
    float outwards = 1.0f + up_m / EARTH_M;
    pos_W[0] = outwards * (PLACE_EAST_M + PLACE_EAST_BY_LAT_M * lat) * lon;
    pos_W[1] = outwards * (PLACE_NORTH_M * lat + PLACE_NORTH_BY_LON2_M * lon * lon);
    pos_W[2] = up_m - (pos_W[0] * pos_W[0] + pos_W[1] * pos_W[1]) / (2.0f * EARTH_M);
}
