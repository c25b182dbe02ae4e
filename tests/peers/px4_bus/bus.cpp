/* The bus, the parameters and PX4's own modules, driven from Python. One module, one thread. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <drivers/drv_hrt.h>
#include <lib/parameters/param.h>
#include <lib/systemlib/mavlink_log.h>
#include <px4_platform_common/log.h>
#include <px4_platform_common/module.h>
#include <px4_platform_common/px4_work_queue/WorkItem.hpp>
#include <uORB/uORB.h>

#include "topics.h" /* generated: BUS_TOPICS, every topic of the table */

extern "C" int aeroloop_law_main(int argc, char *argv[]);

namespace
{
struct Node {
    unsigned char message[1024];
    unsigned generation;
    bool advertised;
    px4::WorkItem *listener;
};

struct Parameter {
    char name[17];
    bool is_float;
    float real;
    int32_t whole;
};

const orb_metadata *const kTopics[] = BUS_TOPICS;
Node nodes[sizeof(kTopics) / sizeof(kTopics[0])];
Parameter parameters[64];
int parameter_count;
hrt_abstime now_us;
char said[4096], told[512], started[256];

void appended(char *text, size_t size, const char *format, va_list arguments)
{
    const size_t used = strlen(text);
    vsnprintf(text + used, size - used, format, arguments);
    strncat(text, "\n", size - strlen(text) - 1);
}
} // namespace

void bus_publish(orb_id_t topic, const void *message)
{
    memcpy(nodes[topic->index].message, message, topic->o_size);
    nodes[topic->index].generation++;
}
void bus_advertise(orb_id_t topic, bool advertised) { nodes[topic->index].advertised = advertised; }
bool bus_advertised(orb_id_t topic) { return nodes[topic->index].advertised; }
unsigned bus_generation(orb_id_t topic) { return nodes[topic->index].generation; }
void bus_copy(orb_id_t topic, void *message) { memcpy(message, nodes[topic->index].message, topic->o_size); }
void bus_listen(orb_id_t topic, px4::WorkItem *item) { nodes[topic->index].listener = item; }

void bus_stop(void (*stopped)())
{
    stopped();

    for (Node &node : nodes) {
        if (node.listener != nullptr) { node.listener->Run(); }
    }
}

extern "C" {
hrt_abstime hrt_absolute_time(void) { return now_us; }

void bus_says(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    appended(said, sizeof(said), format, arguments);
    va_end(arguments);
}

void bus_tells_ground(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    appended(told, sizeof(told), format, arguments);
    va_end(arguments);
}

static int started_stock(int argc, char *argv[])
{
    if (argc != 2 || argv[2] != nullptr) { __builtin_trap(); }

    snprintf(started + strlen(started), sizeof(started) - strlen(started), "%s %s\n", argv[0], argv[1]);
    return 0;
}
int control_allocator_main(int argc, char *argv[]) { return started_stock(argc, argv); }
int mc_rate_control_main(int argc, char *argv[]) { return started_stock(argc, argv); }
int mc_att_control_main(int argc, char *argv[]) { return started_stock(argc, argv); }

param_t param_find(const char *name)
{
    for (int i = 0; i < parameter_count; i++) {
        if (strcmp(parameters[i].name, name) == 0) { return static_cast<param_t>(i); }
    }

    return PARAM_INVALID;
}

/* For Python. */
__EXPORT void bench_put(int topic, const void *message)
{
    Node &node = nodes[topic];
    node.advertised = true;
    bus_publish(kTopics[topic], message);

    if (node.listener != nullptr) { node.listener->Run(); }
}
__EXPORT int bench_size(int topic) { return kTopics[topic]->o_size; }
__EXPORT unsigned bench_get(int topic, void *message)
{
    bus_copy(kTopics[topic], message);
    return nodes[topic].generation;
}
__EXPORT int bench_advertised(int topic) { return nodes[topic].advertised ? 1 : 0; }
__EXPORT void bench_advertise(int topic, int advertised) { nodes[topic].advertised = advertised != 0; }
__EXPORT void bench_time(uint64_t time_us) { now_us = time_us; }
__EXPORT int bench_command(const char *word)
{
    char name[] = "aeroloop_law", argument[32] {};
    strncpy(argument, word, sizeof(argument) - 1);
    char *arguments[] = {name, argument, nullptr};
    return aeroloop_law_main(2, arguments);
}
__EXPORT void bench_parameter(const char *name, int is_float, double value)
{
    const param_t found = param_find(name);
    Parameter &parameter = parameters[found == PARAM_INVALID ? parameter_count++ : found];
    strncpy(parameter.name, name, sizeof(parameter.name) - 1);
    parameter.is_float = is_float != 0;
    parameter.real = static_cast<float>(value);
    parameter.whole = static_cast<int32_t>(value);
}
__EXPORT const char *bench_said(void) { return said; }
__EXPORT const char *bench_told(void) { return told; }
__EXPORT const char *bench_started(void) { return started; }
} // extern "C"

int param_get(param_t param, float *value)
{
    if (param == PARAM_INVALID || !parameters[param].is_float) { return -1; }

    *value = parameters[param].real;
    return 0;
}

int param_get(param_t param, int32_t *value)
{
    if (param == PARAM_INVALID || parameters[param].is_float) { return -1; }

    *value = parameters[param].whole;
    return 0;
}
