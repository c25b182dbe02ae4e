#pragma once
#include <px4_platform_common/px4_work_queue/WorkItem.hpp>
#include <uORB/Subscription.hpp>

namespace uORB
{
class SubscriptionCallbackWorkItem : public Subscription
{
public:
    SubscriptionCallbackWorkItem(px4::WorkItem *item, orb_id_t topic) : Subscription(topic), _item(item) {}
    ~SubscriptionCallbackWorkItem() { unregisterCallback(); }

    bool registerCallback()
    {
        bus_listen(_topic, _item);
        return true;
    }

    void unregisterCallback() { bus_listen(_topic, nullptr); }

private:
    px4::WorkItem *_item;
};
} // namespace uORB
