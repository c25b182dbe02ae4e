#pragma once
#include <uORB/uORB.h>

namespace uORB
{
template<typename T> class Publication
{
public:
    explicit Publication(orb_id_t topic) : _topic(topic)
    {
        static_assert(__is_trivially_copyable(T), "a message is plain data");

        if (topic != T::topic()) { __builtin_trap(); } /* another topic's message */
    }

    Publication(const Publication &) = delete;
    Publication &operator=(const Publication &) = delete;

    ~Publication()
    {
        if (_advertised) { bus_advertise(_topic, false); } /* for all publishers, as in PX4 */
    }

    bool publish(const T &message)
    {
        if (!_advertised) {
            bus_advertise(_topic, true);
            _advertised = true;
        }

        bus_publish(_topic, &message);
        return true;
    }

private:
    orb_id_t _topic;
    bool _advertised{false};
};
} // namespace uORB
