#pragma once
#include <stdint.h>
/* Types are checked: an int32 parameter cannot be read as a float, as a wrong type would be found at PX4's run time. */
typedef uint16_t param_t;
#define PARAM_INVALID ((param_t)0xffff)
extern "C" param_t param_find(const char *name);
int param_get(param_t param, float *value);
int param_get(param_t param, int32_t *value);
