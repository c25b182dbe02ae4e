/* A control law of Aeroloop in the place of PX4's position, attitude and rate control and of its control allocation.
 *
 * Each sample of the gyroscope runs the module, and each is answered by motor commands: in lockstep the simulation waits
 * for them. Fixed text; the law itself is law.c, and law_px4.h has its numbers.
 */
#pragma once

#include <px4_platform_common/defines.h>
#include <px4_platform_common/module.h>
#include <px4_platform_common/px4_work_queue/WorkItem.hpp>

#include <drivers/drv_hrt.h>
#include <lib/parameters/param.h>
#include <uORB/Publication.hpp>
#include <uORB/Subscription.hpp>
#include <uORB/SubscriptionCallback.hpp>
#include <uORB/SubscriptionInterval.hpp>
#include <uORB/topics/actuator_motors.h>
#include <uORB/topics/debug_array.h>
#include <uORB/topics/parameter_update.h>
#include <uORB/topics/takeoff_status.h>
#include <uORB/topics/vehicle_control_mode.h>
#include <uORB/topics/vehicle_land_detected.h>
#include <uORB/topics/vehicle_thrust_setpoint.h>

#include "FlightRows.hpp"
#include "law_px4.h"

extern "C" {
#include "law.h"
}

class AeroloopLaw : public ModuleBase<AeroloopLaw>, public px4::WorkItem
{
public:
    AeroloopLaw();
    ~AeroloopLaw() override = default;

    static int task_spawn(int argc, char *argv[]);
    static int custom_command(int argc, char *argv[]);
    static int print_usage(const char *reason = nullptr);
    int print_status() override;

    /* Whether a running module has an armed aircraft: then it must not be stopped, since nobody would drive the motors. */
    static bool armed();

private:
    enum class State { Disarmed, Ground, Flying, HandedOver };
    enum class Fault { None, Input, Estimate, Output, Mode };

    bool init();
    void Run() override;
    void read_topics();
    void read_gains();
    bool due(hrt_abstime now);
    void step(const vehicle_angular_velocity_s &rates, hrt_abstime now);
    Fault flown(hrt_abstime now);
    Fault wanted(hrt_abstime now);
    State state() const;
    bool holds_height() const;
    void follow_resets(const vehicle_local_position_s &before);
    void rest(float command);
    void hand_over(Fault fault);
    void publish(hrt_abstime sampled);
    void log(hrt_abstime now);
    static const char *words(Fault fault);

    uORB::SubscriptionCallbackWorkItem _rates_sub{this, ORB_ID(vehicle_angular_velocity)};
    uORB::Subscription _attitude_sub{ORB_ID(vehicle_attitude)};
    uORB::Subscription _estimate_sub{ORB_ID(vehicle_local_position)};
    uORB::Subscription _trajectory_sub{ORB_ID(trajectory_setpoint)};
    uORB::Subscription _mode_sub{ORB_ID(vehicle_control_mode)};
    uORB::Subscription _land_sub{ORB_ID(vehicle_land_detected)};
    uORB::Subscription _takeoff_sub{ORB_ID(takeoff_status)};
    uORB::Subscription _sticks_sub{ORB_ID(manual_control_setpoint)};
    uORB::SubscriptionInterval _parameters_sub{ORB_ID(parameter_update), 1000000};

    uORB::Publication<actuator_motors_s> _motors_pub{ORB_ID(actuator_motors)};
    uORB::Publication<vehicle_thrust_setpoint_s> _thrust_pub{ORB_ID(vehicle_thrust_setpoint)};
    uORB::Publication<debug_array_s> _log_pub{ORB_ID(debug_array)};
    orb_advert_t _mavlink_log_pub{nullptr};

    vehicle_attitude_s _attitude{};
    vehicle_local_position_s _estimate{};
    trajectory_setpoint_s _trajectory{};
    vehicle_control_mode_s _mode{};
    vehicle_land_detected_s _land{};
    takeoff_status_s _takeoff{};
    manual_control_setpoint_s _sticks{};

    float _nav[LAW_NAV] {};
    float _setpoint[LAW_SETPOINT] {};
    float _memory[LAW_MEMORY] {};
    float _gains[LAW_GAINS] {};
    float _motors[LAW_MOTORS];
    float _attitude_wanted[4] {};
    float _velocity_jump_NED[3] {};
    float _yaw{0.f};

    State _state{State::Disarmed};
    Fault _fault{Fault::None};
    hrt_abstime _due{0};
    uint32_t _steps{0};
    uint32_t _late{0};
    uint32_t _bad{0};
    uint32_t _bad_in_row{0};
    uint32_t _published{0};
    float _law_us{0.f};
    bool _test_nan{false};
};
