"""Whether limiting works, and in which process: what monitors read, and what processes say of themselves."""

from typing import Any


def status() -> dict[str, Any]:
    """`overview.status`, imported when it is first asked for."""
    from ratewindow.health import overview

    return overview.status()


__all__ = ["status"]
