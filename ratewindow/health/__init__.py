"""Whether limiting works, and in which process: what monitors read, and what processes say of themselves."""

from ratewindow.health.overview import status

__all__ = ["status"]
