#include "AeroloopLaw.hpp"

#include <math.h>
#include <string.h>
#include <time.h>

#include <lib/systemlib/mavlink_log.h>
#include <px4_platform_common/log.h>

static_assert(LAW_NAV == aeroloop::kNav && LAW_SETPOINT == aeroloop::kSetpoint, "law.h and FlightRows.hpp differ");
static_assert(LAW_MOTORS <= actuator_motors_s::NUM_CONTROLS, "more rotors than PX4 has motors");

/* PX4's own controllers, to which a law that fails hands over; one binary: they can be called. */
extern "C" int control_allocator_main(int argc, char *argv[]);
extern "C" int mc_rate_control_main(int argc, char *argv[]);
extern "C" int mc_att_control_main(int argc, char *argv[]);

namespace
{
constexpr hrt_abstime kPeriod_us = LAW_PERIOD_US;
constexpr float kPeriod_s = 1e-6f * LAW_PERIOD_US;
constexpr hrt_abstime kStale_us = 500000; /* estimate and setpoints */
constexpr hrt_abstime kStaleAttitude_us = 100000;
constexpr uint32_t kMostBad = 5; /* in a row */
constexpr float kJump_s = 0.5f;  /* in which a jump of the estimated velocity reaches the law */
constexpr float kStickDown = -0.9f; /* below it the heading is not held */
constexpr int kLogHead = 3;
constexpr int kLogFree = debug_array_s::ARRAY_SIZE - kLogHead - LAW_SETPOINT - LAW_NAV - LAW_MOTORS - 4;
constexpr int kLogMemory = LAW_MEMORY < kLogFree ? LAW_MEMORY : kLogFree;

#if defined(__PX4_POSIX)
constexpr uint32_t kLogEvery = 1;

/* In lockstep the time of PX4 stands still while the law runs. */
uint64_t now_ns()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}
#else
constexpr uint32_t kLogEvery = 10;

uint64_t now_ns() { return hrt_absolute_time() * 1000ULL; }
#endif

void start_stock(int (*entry)(int, char *[]), const char *name)
{
    char module_name[32] {};
    char start[] = "start";
    strncpy(module_name, name, sizeof(module_name) - 1);
    char *arguments[] = {module_name, start, nullptr};
    entry(2, arguments);
}
} // namespace

AeroloopLaw::AeroloopLaw() : WorkItem(MODULE_NAME, px4::wq_configurations::rate_ctrl)
{
    rest(NAN);
    read_gains();
}

bool AeroloopLaw::init()
{
    if (!_rates_sub.registerCallback()) {
        PX4_ERR("callback registration failed");
        return false;
    }

    return true;
}

void AeroloopLaw::Run()
{
    if (should_exit()) {
        _rates_sub.unregisterCallback();
        exit_and_cleanup();
        return;
    }

    vehicle_angular_velocity_s rates{};

    if (_state == State::HandedOver || !_rates_sub.update(&rates)) { return; }

    read_topics();

    if (due(rates.timestamp_sample)) { step(rates, rates.timestamp_sample); }

    if (_state != State::HandedOver) { publish(rates.timestamp_sample); }
}

void AeroloopLaw::read_topics()
{
    if (_parameters_sub.updated()) {
        parameter_update_s update{};
        _parameters_sub.copy(&update);
        read_gains();
    }

    const vehicle_local_position_s before = _estimate;
    _attitude_sub.update(&_attitude);

    if (_estimate_sub.update(&_estimate) && before.timestamp != 0) { follow_resets(before); }

    _trajectory_sub.update(&_trajectory);
    _mode_sub.update(&_mode);
    _land_sub.update(&_land);
    _takeoff_sub.update(&_takeoff);
    _sticks_sub.update(&_sticks);
}

/* Without its parameter a gain has its default. */
void AeroloopLaw::read_gains()
{
    static const char *const names[] = LAW_GAIN_NAMES;
    static const float defaults[] = LAW_GAIN_DEFAULTS;

    for (int i = 0; i < LAW_GAIN_COUNT; i++) {
        float value = defaults[i];
        param_get(param_find(names[i]), &value);
        _gains[i] = value;
    }

#if defined(__PX4_POSIX)
    int32_t test = 0;
    param_get(param_find("AL_TEST_NAN"), &test);
    _test_nan = test != 0;
#endif
}

/* A reset of the estimator is no motion: the law, which may differentiate the velocity, gets it as a slow change. */
void AeroloopLaw::follow_resets(const vehicle_local_position_s &before)
{
    if (_estimate.vxy_reset_counter != before.vxy_reset_counter) {
        _velocity_jump_NED[0] -= _estimate.delta_vxy[0];
        _velocity_jump_NED[1] -= _estimate.delta_vxy[1];
    }

    if (_estimate.vz_reset_counter != before.vz_reset_counter) { _velocity_jump_NED[2] -= _estimate.delta_vz; }
}

/* Whether a step of the law is due: the samples nearest to its period, of a gyroscope that may be faster. */
bool AeroloopLaw::due(hrt_abstime now)
{
    if (_due != 0 && now + kPeriod_us / 4 < _due) { return false; }

    const bool late = _due != 0 && now > _due + kPeriod_us / 2;
    _late += late ? 1 : 0;
    _due = (_due == 0 || late) ? now + kPeriod_us : _due + kPeriod_us;
    return true;
}

void AeroloopLaw::step(const vehicle_angular_velocity_s &rates, hrt_abstime now)
{
    _state = state();

    for (float &jump : _velocity_jump_NED) {
        jump = fabsf(jump) < 1e-4f ? 0.f : jump * (1.f - kPeriod_s / kJump_s);
    }

    aeroloop::nav_row(_estimate, _attitude, rates, _velocity_jump_NED, _nav);

    if (_state != State::Flying) {
        rest(_state == State::Disarmed ? NAN : 0.f);
        return;
    }

    _steps++;
    const Fault fault = flown(now);

    if (fault == Fault::None) {
        _bad_in_row = 0;
        return;
    }

    /* The last good command and memory stand. */
    _fault = fault;
    _bad++;

    if (++_bad_in_row >= kMostBad) { hand_over(fault); }
}

/* One step of the law. Limits drop NaN, so that its motors alone do not show a failure: inputs, all outputs and what
 * the law limits are checked. */
AeroloopLaw::Fault AeroloopLaw::flown(hrt_abstime now)
{
    const Fault fault = wanted(now);

    if (fault != Fault::None) { return fault; }

    if (_test_nan) { _nav[0] = NAN; }

    if (!aeroloop::all_finite(_nav, LAW_NAV) || !aeroloop::all_finite(_setpoint, LAW_SETPOINT)
        || !aeroloop::all_finite(_gains, LAW_GAINS)) {
        return Fault::Input;
    }

    float motors[LAW_MOTORS], attitude[4], memory[LAW_MEMORY], unclipped = 0.f;
    const uint64_t before_ns = now_ns();
    law_run(_nav, _setpoint, _memory, _gains, motors, attitude, memory, &unclipped);
    _law_us = 1e-3f * static_cast<float>(now_ns() - before_ns);

    if (!aeroloop::all_finite(motors, LAW_MOTORS) || !aeroloop::all_finite(attitude, 4)
        || !aeroloop::all_finite(memory, LAW_MEMORY) || __builtin_isnan(unclipped)) {
        return Fault::Output;
    }

    for (int i = 0; i < LAW_MOTORS; i++) { _motors[i] = fminf(fmaxf(motors[i], 0.f), 1.f); }

    memcpy(_attitude_wanted, attitude, sizeof(attitude));
    memcpy(_memory, memory, sizeof(memory));
    return Fault::None;
}

/* The setpoint of the mode: PX4's trajectory where a height is held, else the sticks. */
AeroloopLaw::Fault AeroloopLaw::wanted(hrt_abstime now)
{
    if (_attitude.timestamp + kStaleAttitude_us < now) { return Fault::Estimate; }

    if (holds_height()) {
        const bool stale = _trajectory.timestamp + kStale_us < now;
        const trajectory_setpoint_s given = stale ? aeroloop::sinking() : _trajectory;
        const bool known = _estimate.timestamp + kStale_us >= now
                           && aeroloop::trajectory_row(given, _estimate, _nav, kPeriod_s, _yaw, _setpoint);
        return known ? Fault::None : Fault::Estimate;
    }

    if (!LAW_FLIES_ATTITUDE || !_mode.flag_control_attitude_enabled || !_mode.flag_control_manual_enabled
        || _sticks.timestamp == 0) {
        return Fault::Mode;
    }

    if (!(_sticks.throttle > kStickDown)) { _yaw = aeroloop::yaw_of(_nav); }

    aeroloop::stick_row(_sticks, LAW_HOVER_SHARE, kPeriod_s, _yaw, _setpoint);
    return Fault::None;
}

bool AeroloopLaw::holds_height() const
{
    return _mode.flag_control_altitude_enabled || _mode.flag_control_climb_rate_enabled
           || _mode.flag_control_position_enabled || _mode.flag_control_velocity_enabled
           || _mode.flag_control_acceleration_enabled;
}

/* On the ground the motors idle, before take-off and after touchdown, as with PX4's own position control. */
AeroloopLaw::State AeroloopLaw::state() const
{
    if (!_mode.flag_armed) { return State::Disarmed; }

    const bool waits = _takeoff.takeoff_state < takeoff_status_s::TAKEOFF_STATE_RAMPUP;
    const bool touched = _takeoff.takeoff_state >= takeoff_status_s::TAKEOFF_STATE_FLIGHT && _land.ground_contact;
    return holds_height() && (waits || touched) ? State::Ground : State::Flying;
}

/* Not in flight: the same command for all motors (NaN stops them, 0 idles), an empty memory, the present heading. */
void AeroloopLaw::rest(float command)
{
    for (float &motor : _motors) { motor = command; }

    memset(_memory, 0, sizeof(_memory));
    memset(_attitude_wanted, 0, sizeof(_attitude_wanted));
    _bad_in_row = 0;
    _yaw = aeroloop::all_finite(&_nav[6], 4) ? aeroloop::yaw_of(_nav) : 0.f;
}

/* For the rest of this start of PX4. Only starts: stopping a module would wait for this very work queue. */
void AeroloopLaw::hand_over(Fault fault)
{
    _state = State::HandedOver;
    start_stock(control_allocator_main, "control_allocator");
    start_stock(mc_rate_control_main, "mc_rate_control");
    start_stock(mc_att_control_main, "mc_att_control");
    mavlink_log_critical(&_mavlink_log_pub, "law failed (%s): PX4's control\t", words(fault));
}

void AeroloopLaw::publish(hrt_abstime sampled)
{
    actuator_motors_s motors{};
    vehicle_thrust_setpoint_s thrust{};
    float share = 0.f;

    for (int i = 0; i < actuator_motors_s::NUM_CONTROLS; i++) {
        motors.control[i] = i < LAW_MOTORS ? _motors[i] : NAN;
    }

    /* The land detector looks at the thrust: it grows with the square of the rotor speed. */
    for (int i = 0; i < LAW_MOTORS && _state == State::Flying; i++) {
        const float speed = LAW_IDLE_SPEED + (1.f - LAW_IDLE_SPEED) * _motors[i];
        share += speed * speed / LAW_MOTORS;
    }

    const hrt_abstime now = hrt_absolute_time();
    motors.timestamp = thrust.timestamp = now;
    motors.timestamp_sample = thrust.timestamp_sample = sampled;
    thrust.xyz[2] = -share;
    _motors_pub.publish(motors);
    _thrust_pub.publish(thrust);

    if (_published++ % kLogEvery == 0) { log(now); }
}

void AeroloopLaw::log(hrt_abstime now)
{
    debug_array_s row{};
    const float head[kLogHead] = {static_cast<float>(_state), static_cast<float>(_bad), _law_us};
    float *at = row.data;
    const auto append = [&at](const float *values, int count) {
        memcpy(at, values, sizeof(float) * static_cast<size_t>(count));
        at += count;
    };
    append(head, kLogHead);
    append(_setpoint, LAW_SETPOINT);
    append(_nav, LAW_NAV);
    append(_motors, LAW_MOTORS);
    append(_attitude_wanted, 4);
    append(_memory, kLogMemory);
    row.timestamp = now;
    row.id = 7;
    strncpy(row.name, "law", sizeof(row.name) - 1);
    _log_pub.publish(row);
}

const char *AeroloopLaw::words(Fault fault)
{
    switch (fault) {
    case Fault::Input: return "NaN input";

    case Fault::Estimate: return "no estimate";

    case Fault::Output: return "NaN output";

    case Fault::Mode: return "mode not flown";

    default: return "none";
    }
}

bool AeroloopLaw::armed()
{
    const AeroloopLaw *law = is_running() ? get_instance() : nullptr;
    return law != nullptr && law->_mode.flag_armed;
}

int AeroloopLaw::print_status()
{
    static const char *const states[] = {"disarmed", "on the ground", "flying", "handed over to PX4's control"};
    PX4_INFO("%s", states[static_cast<int>(_state)]);
    PX4_INFO("law %s", LAW_INTERFACE);
    PX4_INFO("steps %u, late %u, bad %u (last: %s), law %.1f us", static_cast<unsigned>(_steps),
             static_cast<unsigned>(_late), static_cast<unsigned>(_bad), words(_fault), static_cast<double>(_law_us));
    return 0;
}

int AeroloopLaw::task_spawn(int argc, char *argv[])
{
    /* A module that stops takes its topics away from all readers, although another publishes them: whoever drives the
     * motors must have stopped before. */
    uORB::Subscription motors{ORB_ID(actuator_motors)};

    if (motors.advertised()) {
        PX4_ERR("another module drives the motors: control_allocator stop");
        return PX4_ERROR;
    }

    AeroloopLaw *instance = new AeroloopLaw();

    if (instance != nullptr) {
        _object.store(instance);
        _task_id = task_id_is_work_queue;

        if (instance->init()) { return PX4_OK; }

    } else {
        PX4_ERR("alloc failed");
    }

    delete instance;
    _object.store(nullptr);
    _task_id = -1;
    return PX4_ERROR;
}

int AeroloopLaw::custom_command(int argc, char *argv[]) { return print_usage("unknown command"); }

int AeroloopLaw::print_usage(const char *reason)
{
    if (reason != nullptr) { PX4_WARN("%s", reason); }

    PRINT_MODULE_DESCRIPTION(
        "### Description\n"
        "Flies a control law exported by Aeroloop, from the estimate to the motors, in the place of PX4's position,\n"
        "attitude and rate control and control allocation. If the law fails, it starts those and ends its work.\n");
    PRINT_MODULE_USAGE_NAME("aeroloop_law", "controller");
    PRINT_MODULE_USAGE_COMMAND("start");
    PRINT_MODULE_USAGE_DEFAULT_COMMANDS();
    return 0;
}

extern "C" __EXPORT int aeroloop_law_main(int argc, char *argv[])
{
    if (argc > 1 && strcmp(argv[1], "stop") == 0 && AeroloopLaw::armed()) {
        PX4_ERR("not stopped: the aircraft is armed, and nobody else drives its motors");
        return -1;
    }

    return AeroloopLaw::main(argc, argv);
}
