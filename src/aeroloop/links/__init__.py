"""Byte links behind one URL: serial, pty, udp, tcp, loopback; and the impairments any of them can wear."""
