#pragma once
#include <stdint.h>
typedef uint64_t hrt_abstime;
extern "C" hrt_abstime hrt_absolute_time(void);
