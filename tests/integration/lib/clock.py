"""Processes whose clocks a test moves (tests/support/shifted_clock.c).

    clock = Clock(t)
    members = t.our_members(cluster, "g", env=clock.env)
    clock.set(3600)                # the wall clock is an hour ahead
    clock.suspend(600)             # of a process that is paused: CLOCK_BOOTTIME has gone on by ten minutes
"""
import mmap
import os
import struct

from .members import program

_NS_PER_S = 1000 * 1000 * 1000


class Clock:
    def __init__(self, t):
        path = t.folder / "clock-shifts"
        path.write_bytes(bytes(16))
        with path.open("r+b") as file:
            self._shifts = mmap.mmap(file.fileno(), 16)
        options = [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]
        self.env = {"LD_PRELOAD": str(program("zkc_shifted_clock.so")), "ZKC_CLOCK_SHIFTS": str(path),
                    "ASAN_OPTIONS": ":".join(filter(None, options))}

    def _write(self, place, seconds):
        self._shifts[8 * place:8 * place + 8] = struct.pack("=q", int(seconds * _NS_PER_S))

    def set(self, seconds):
        """The wall clock is that much ahead of (or behind) what it was at first."""
        self._write(0, seconds)

    def suspend(self, seconds):
        """In all, so far."""
        self._write(1, seconds)
