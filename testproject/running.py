"""The demo that runs in this checkout, so that ``manage.py`` speaks to its database and its Redis, and to no others."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_NAMES = ("RATEWINDOW_REDIS_URL", "RATEWINDOW_TRUSTED_PROXIES", "TESTPROJECT_DATABASE")


def _note() -> Path:
    """Where a demo says that it is there."""
    return Path(os.environ.get("TESTPROJECT_RUNNING") or Path(__file__).resolve().parent.parent / ".demo" / "running.json")


@contextlib.contextmanager
def announced(environment: Mapping[str, str]) -> Iterator[None]:
    """Say meanwhile what a program needs in its environment to belong to this demo; of several demos the last one says it."""
    note = _note()
    note.parent.mkdir(exist_ok=True)
    told = json.dumps({"pid": os.getpid(), **{name: environment[name] for name in _NAMES}})
    note.write_text(told)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if note.read_text() == told:
                note.unlink()


def environment() -> dict[str, str]:
    """What a program needs to belong to the demo that runs; empty where none does, or where the environment names a Redis
    or a database."""
    if any(name in os.environ for name in _NAMES):
        return {}
    try:
        told = json.loads(_note().read_text())
        os.kill(told.pop("pid"), 0)  # it may have been killed before it could take the note away
    except (OSError, ValueError):
        return {}
    return {name: str(told[name]) for name in _NAMES}
