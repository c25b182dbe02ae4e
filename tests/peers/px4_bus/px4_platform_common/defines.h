#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#define PX4_OK 0
#define PX4_ERROR (-1)
#define PX4_ISFINITE(x) __builtin_isfinite(x)
