"""The running demo of this checkout, so that ``manage.py`` uses its database and its Redis."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_NAMES = ("RATEWINDOW_REDIS_URL", "RATEWINDOW_TRUSTED_PROXIES", "TESTPROJECT_DATABASE")


def _note() -> Path:
    """The file in which a running demo announces itself."""
    return Path(os.environ.get("TESTPROJECT_RUNNING") or Path(__file__).resolve().parent.parent / ".demo" / "running.json")


@contextlib.contextmanager
def announced(environment: Mapping[str, str]) -> Iterator[None]:
    """Announce the environment of this demo for other programs; of several demos the last one is announced."""
    note = _note()
    note.parent.mkdir(exist_ok=True)
    text = json.dumps({"pid": os.getpid(), **{name: environment[name] for name in _NAMES}})
    note.write_text(text)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if note.read_text() == text:
                note.unlink()


def environment() -> dict[str, str]:
    """The environment of the running demo; empty if none runs, or if the environment names a Redis or a database."""
    if any(name in os.environ for name in _NAMES):
        return {}
    try:
        found = json.loads(_note().read_text())
        os.kill(found.pop("pid"), 0)  # it may have been killed before it removed the file
    except (OSError, ValueError):
        return {}
    return {name: str(found[name]) for name in _NAMES}
