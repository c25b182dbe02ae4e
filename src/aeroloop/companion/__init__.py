"""The companion computer: frames and MAVLink in, MAVLink out. It never sees the truth."""
