#pragma once
/* What the module says is kept, for the test to read. */
extern "C" void bus_says(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define PX4_INFO(...) bus_says(__VA_ARGS__)
#define PX4_WARN(...) bus_says(__VA_ARGS__)
#define PX4_ERR(...) bus_says(__VA_ARGS__)
