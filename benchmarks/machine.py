"""What a run ran on: numbers of two machines cannot be compared, ratios nearly."""

import datetime
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ratewindow.store import process_clients

_LIBRARIES = ("Django", "redis", "hiredis", "django-ratelimit", "django-smart-ratelimit", "djangorestframework", "limits")


def described(info: Any = None, names: Sequence[str] = _LIBRARIES) -> str:
    """The machine, the server that gave this `info`, or else the limiter's, and libraries by `names`."""
    info = info or process_clients.client().info("server")
    server = f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    return (
        f"{datetime.datetime.now(datetime.UTC).date()}{_commit()}: {platform.system()} on {platform.machine()}, "
        f"{os.cpu_count()} cores{_model()}, Python {platform.python_version()}, {server} over loopback, {libraries}."
    )


def _commit() -> str:
    """The commit that is measured, in a checkout."""
    try:
        told = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f", commit {told.stdout.strip()}"


def _model() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return ""
    return next((f" ({line.partition(':')[2].strip()})" for line in lines if line.startswith("model name")), "")
