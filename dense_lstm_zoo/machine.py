"""The machine that a measurement is made on, as results name it: nothing tells whose it is; this process' memory."""

from __future__ import annotations

import os
import platform
import resource
import sys
from pathlib import Path


def processor() -> str:
    """Return the processor's model name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_average() -> float | None:
    """Return the mean number of running processes in the last minute: a reader sees whether the machine was quiet."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def resident_mb() -> float:
    """Return how much memory this process holds, in MB of 2**20 bytes; outside Linux, the most that it ever held."""
    found = _status("VmRSS")
    return peak_mb() if found is None else found


def peak_mb() -> float:
    """Return the most memory that this process ever held, in MB of 2**20 bytes."""
    found = _status("VmHWM")
    if found is not None:  # ru_maxrss would count what the process that started this one held
        return found
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _status(field: str) -> float | None:
    """Return a field of Linux' table of this process, in MB; None elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:")), None)
