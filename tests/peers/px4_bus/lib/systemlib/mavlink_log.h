#pragma once
#include <uORB/uORB.h>
extern "C" void bus_tells_ground(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define mavlink_log_critical(_pub, _text, ...) do { (void)(_pub); bus_tells_ground(_text, ##__VA_ARGS__); } while (0);
