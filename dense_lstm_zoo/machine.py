"""The machine of a measurement, described without identifying its owner, and this process's memory."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import sys
import time
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def versions() -> dict[str, str]:
    """Return the versions a result depends on."""
    packages = ("dense-lstm-zoo", "keras", "tensorflow", "tensorflow-text", "numpy")
    return {"python": platform.python_version()} | {p: importlib.metadata.version(p) for p in packages}


def processor() -> str:
    """Return the processor's model name."""
    names = [line.partition(":")[2].strip() for line in _lines(_CPUINFO) if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def has_bfloat16(cpuinfo: Path = _CPUINFO) -> bool:
    """Return whether this processor multiplies bfloat16 numbers itself, or True where that is not known.

    Without such instructions TensorFlow emulates them.

    Args:
        cpuinfo: Linux's file about the processor.
    """
    lines = (line for line in _lines(cpuinfo) if line.lower().startswith(("flags", "features")))
    features = {word for line in lines for word in line.split()}
    return not features or not features.isdisjoint(("avx512_bf16", "amx_bf16", "bf16"))  # x86 twice, then ARM


def _lines(path: Path) -> list[str]:
    """Return the lines of one of Linux's files about the machine, or none elsewhere."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def import_environment() -> dict[str, str]:
    """Return the environment with which Python, started with ``-P``, imports from where this process does.

    It does not import from the current folder unless this process does: a file there may have the name of a module.
    """
    return {"PYTHONPATH": os.pathsep.join(str(Path(place).absolute()) for place in sys.path)}


def load_average() -> float | None:
    """Return the load average of the last minute, which shows whether the machine was idle."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def resident_mb() -> float:
    """Return this process's current memory in MB of 2**20 bytes. Outside Linux, its peak."""
    resident = _status("VmRSS")
    return peak_mb() if resident is None else resident


def peak_mb() -> float:
    """Return this process's peak memory in MB of 2**20 bytes."""
    peak = _status("VmHWM")
    if peak is not None:  # ru_maxrss would include the parent process's peak
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def process_age() -> float | None:
    """Return the seconds since this process started, to a hundredth, or None outside Linux."""
    try:
        stat = Path("/proc/self/stat").read_text()
    except OSError:
        return None
    started = int(stat.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")  # the name before it may hold spaces
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def _status(field: str) -> float | None:
    """Return a field of this process's Linux status file in MB, or None elsewhere."""
    lines = (line for line in _lines(Path("/proc/self/status")) if line.startswith(f"{field}:"))
    return next((int(line.split()[1]) / 1024 for line in lines), None)
