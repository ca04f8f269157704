"""What a process of its own tells, since a process has one guard and one database: ``python -m benchmarks.logins.MODULE``."""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.logins import tally

SETTINGS = "benchmarks.logins.site.settings"


def told(module: str, guard: str, **environment: str) -> Any:
    """What the module prints, as JSON, on the site behind this guard. RuntimeError with its complaints if it fails."""
    with tempfile.TemporaryDirectory(prefix="ratewindow-logins-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.logins.{module}"],
            env=site_environment(guard, Path(folder), **environment),
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise RuntimeError(f"{module} behind {guard} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def site_environment(guard: str, folder: Path, **more: str) -> dict[str, str]:
    own = {"DJANGO_SETTINGS_MODULE": SETTINGS, "LOGINS_GUARD": guard, tally.FILE: str(folder / "tally")}
    return {**os.environ, **own, **more}


def forked(play: Callable[[], Any]) -> Any:
    """What it returns in a copy of this process, whose counts in memory nobody else sees."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.write(write, json.dumps(play()).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"{getattr(play, '__name__', play)} failed in its process")
    return json.loads(answer)
