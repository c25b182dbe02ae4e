#pragma once
#include <uORB/uORB.h>

namespace uORB
{
class Subscription
{
public:
    explicit Subscription(orb_id_t topic) : _topic(topic) {}

    bool advertised() { return bus_advertised(_topic); }
    bool updated() { return bus_advertised(_topic) && bus_generation(_topic) != _seen; }

    template<typename T> bool update(T *message) { return updated() && copy(message); }

    template<typename T> bool copy(T *message)
    {
        if (_topic != T::topic()) { __builtin_trap(); } /* PX4 would overwrite memory here */

        if (!bus_advertised(_topic)) { return false; }

        bus_copy(_topic, message);
        _seen = bus_generation(_topic);
        return true;
    }

protected:
    orb_id_t _topic;
    unsigned _seen{0};
};
} // namespace uORB
