"""Byte links behind one URL: serial, pty, udp, tcp, loopback; and impairments for any of them."""
