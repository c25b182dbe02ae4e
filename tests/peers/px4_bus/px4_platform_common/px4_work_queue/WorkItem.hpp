#pragma once
#include <px4_platform_common/defines.h>

namespace px4
{
struct wq_config_t {
    const char *name;
    uint16_t stacksize;
    int8_t relative_priority;
};

namespace wq_configurations
{
static constexpr wq_config_t rate_ctrl{"wq:rate_ctrl", 3150, 0};
}

class WorkItem
{
public:
    WorkItem() = delete;
    virtual void Run() = 0;
protected:
    WorkItem(const char *, const wq_config_t &) {}
    virtual ~WorkItem() = default;
};
} // namespace px4
