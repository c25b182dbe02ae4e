#pragma once
#include <drivers/drv_hrt.h>
#include <uORB/Subscription.hpp>

namespace uORB
{
class SubscriptionInterval
{
public:
    SubscriptionInterval(orb_id_t topic, uint32_t interval_us) : _subscription(topic), _interval_us(interval_us) {}

    bool updated() { return hrt_absolute_time() >= _last_us + _interval_us && _subscription.updated(); }

    template<typename T> bool copy(T *message)
    {
        _last_us = hrt_absolute_time();
        return _subscription.copy(message);
    }

private:
    Subscription _subscription;
    uint32_t _interval_us;
    hrt_abstime _last_us{0};
};
} // namespace uORB
