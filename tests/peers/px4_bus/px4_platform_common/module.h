#pragma once
/* Start, stop and status of a module on a work queue, as PX4's base class has them. */
#include <string.h>
#include <px4_platform_common/log.h>

namespace px4
{
template<class T> class atomic
{
public:
    explicit atomic(T value) : _value(value) {}
    T load() const { return _value; }
    void store(T value) { _value = value; }
private:
    T _value;
};
} // namespace px4

void bus_stop(void (*stopped)()); /* runs the work queue once more, as the gyroscope's next sample would */

template<class T> class ModuleBase
{
public:
    ModuleBase() = default;
    virtual ~ModuleBase() = default;

    static int main(int argc, char *argv[])
    {
        if (argc <= 1) { return T::print_usage(); }

        if (strcmp(argv[1], "start") == 0) {
            if (is_running()) { return -1; }

            return T::task_spawn(argc - 1, argv + 1);
        }

        if (strcmp(argv[1], "status") == 0) { return is_running() ? _object.load()->print_status() : -1; }

        if (strcmp(argv[1], "stop") == 0) {
            if (is_running()) { bus_stop([] { _object.load()->request_stop(); }); }

            return 0;
        }

        return T::custom_command(argc - 1, argv + 1);
    }

    virtual int print_status() { return 0; }
    static bool is_running() { return _task_id != -1; }

protected:
    virtual void request_stop() { _should_exit = true; }
    bool should_exit() const { return _should_exit; }

    static void exit_and_cleanup()
    {
        delete _object.load();
        _object.store(nullptr);
        _task_id = -1;
    }

    static T *get_instance() { return _object.load(); }

    static px4::atomic<T *> _object;
    static int _task_id;
    static constexpr const int task_id_is_work_queue = -2;

private:
    bool _should_exit{false};
};

template<class T> px4::atomic<T *> ModuleBase<T>::_object{nullptr};
template<class T> int ModuleBase<T>::_task_id = -1;

inline void PRINT_MODULE_DESCRIPTION(const char *) {}
inline void PRINT_MODULE_USAGE_NAME(const char *, const char *) {}
#define PRINT_MODULE_USAGE_COMMAND(name)
#define PRINT_MODULE_USAGE_DEFAULT_COMMANDS()
