"""A companion computer that lands an aircraft on the pad: frames and MAVLink in, LANDING_TARGET out.
python companion.py HOST:5600 udpout:HOST:14540         # HOST: aeroloop fly quad-landing --companion tcp://0.0.0.0:5600
python companion.py 127.0.0.1:5600 udpin:0.0.0.0:14540  # the same machine: --companion tcp://127.0.0.1:5600
"""

import socket
import struct
import sys
import threading
import time
from collections import deque

import cv2
import numpy as np
from pymavlink import mavutil

HEADER = struct.Struct("<4s4BIqI2H4f5ff3I")  # of a frame: docs/cameras.md
LATENCY_NS = 80_000_000  # from a frame's time to its delivery: latency_s of the camera
CAMERA_B, R_BC = np.array([0, 0, 0.02]), np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])  # body: forward, right, down
SQUARE = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)])  # as in the image: x right, y down
PAD = [far * xy + side / 2 * SQUARE for side, far in ((0.34, 0.32), (0.09, 0.075)) for xy in SQUARE] + [0.015 * SQUARE]
SETTINGS = cv2.aruco.DetectorParameters()
SETTINGS.cornerRefinementMethod, SETTINGS.minMarkerPerimeterRate = cv2.aruco.CORNER_REFINE_SUBPIX, 0.02
DETECTOR = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50), SETTINGS)
WATCHED = {"LOCAL_POSITION_NED": ("x", "y", "z"), "ATTITUDE_QUATERNION": ("q1", "q2", "q3", "q4")}


def find_pad(grey, camera, lens):
    """Its middle in m: right, down and forward of the camera; None if it is not seen."""
    corners, ids, _ = DETECTOR.detectMarkers(grey)
    seen = [(n, px[0]) for n, px in zip(np.ravel(ids), corners, strict=True) if n < len(PAD)] if len(corners) else []
    if not seen or len(dict(seen)) < len(seen):  # one marker twice: which one is meant is not known
        return None
    points, pixels = np.concatenate([PAD[n] for n, _ in seen]), np.concatenate([px for _, px in seen])
    # OpenCV's rotation vectors are inaccurate near half a turn: turn the pad by the upper edge of a marker.
    cos, sin = (pixels[1] - pixels[0]) / np.linalg.norm(pixels[1] - pixels[0])
    points = points @ np.array([(cos, sin, 0), (-sin, cos, 0), (0, 0, 1)])
    _, _, shifts, errors_px = cv2.solvePnPGeneric(points, pixels, camera, lens, flags=cv2.SOLVEPNP_IPPE)
    return shifts[0].ravel() if len(shifts) and errors_px[0, 0] < 1.5 else None


def listen(link, rows, clock):
    while message := link.recv_match(type=[*WATCHED, "TIMESYNC"], blocking=True):
        if (kind := message.get_type()) in WATCHED:
            rows[kind].append((message.time_boot_ms, *(getattr(message, name) for name in WATCHED[kind])))
        elif message.tc1:
            clock["boot - own"] = message.tc1 - message.ts1  # too large by the way there


def at(time_ms, rows):
    t_ms, values = np.split(np.array(rows), [1], axis=1)
    signs = np.where(values @ values[-1:].T < 0, -1, 1) if values.shape[1] == 4 else 1  # quaternions: q is -q
    return np.array([np.interp(time_ms, t_ms[:, 0], column) for column in (values * signs).T])


def main(frames="127.0.0.1:5600", mavlink="udpin:0.0.0.0:14540"):
    link = mavutil.mavlink_connection(mavlink, source_system=1, source_component=191)
    rows, clock, offsets_ns = {name: deque(maxlen=100) for name in WATCHED}, {}, deque(maxlen=100)
    threading.Thread(target=listen, args=(link, rows, clock), daemon=True).start()
    stream = socket.create_connection(frames.rsplit(":", 1)).makefile("rb")
    while len(head := stream.read(HEADER.size)) == HEADER.size:
        number, t_ns, _, _, _, fx, fy, cx, cy, *lens, _, size, more, _ = HEADER.unpack(head)[5:]
        image, now_ns = np.frombuffer(stream.read(size + more)[:size], np.uint8), time.monotonic_ns()
        link.mav.timesync_send(0, now_ns)
        for group in (10, 6) if number % 10 == 0 else ():
            link.mav.heartbeat_send(18, 8, 0, 0, 4)  # an onboard controller, no autopilot, active
            link.mav.request_data_stream_send(1, 1, group, 50, 1)  # attitude and position at 50 Hz
        grey, camera = cv2.imdecode(image, cv2.IMREAD_GRAYSCALE), np.array([(fx, 0, cx), (0, fy, cy), (0, 0, 1)])
        if (pad_C := find_pad(grey, camera, np.array(lens))) is not None and clock and all(rows.values()):
            offsets_ns.append(now_ns + clock["boot - own"] - t_ns - LATENCY_NS)  # of these the least delayed counts
            image_ns = t_ns + min(offsets_ns)
            position, (w, *v) = (at(image_ns / 1e6, rows[name].copy()) for name in WATCHED)
            pad_B = CAMERA_B + R_BC @ pad_C
            pad_NED = position + pad_B + 2 * np.cross(v, np.cross(v, pad_B) + w * pad_B)
            link.mav.landing_target_send(image_ns // 1000, 0, 1, 0, 0, 0, 0, 0, *pad_NED, [1, 0, 0, 0], 2, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
