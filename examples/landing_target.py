"""Send LANDING_TARGET to a flight: a pad at a known place of the local frame, as a companion that sees it would.

    python examples/landing_target.py udpin:0.0.0.0:14540 1.5 -1.0        # metres north and east of the local origin

Then `aeroloop cmd land --precision` lands there. Replace `pad_NED` by what your detector sees.
"""

import sys

from pymavlink import mavutil


def send_target(link, time_boot_ms, pad_NED):
    """`time_boot_ms`: time of the image on the autopilot's clock; `pad_NED`: in its local frame, in m."""
    link.mav.landing_target_send(
        int(1000 * time_boot_ms),
        0,  # target_num
        mavutil.mavlink.MAV_FRAME_LOCAL_NED,
        *(0.0, 0.0, 0.0, 0.0, 0.0),  # angles, distance and sizes: not used with a position
        *pad_NED,
        [1.0, 0.0, 0.0, 0.0],
        mavutil.mavlink.LANDING_TARGET_TYPE_VISION_FIDUCIAL,
        1,  # position_valid
    )


def main(url, north_m, east_m):
    link = mavutil.mavlink_connection(url, source_system=1, source_component=191)
    link.wait_heartbeat()
    while True:
        own = link.recv_match(type="LOCAL_POSITION_NED", blocking=True)
        send_target(link, own.time_boot_ms, (north_m, east_m, 0.0))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
