"""Silences our logger while a command runs that reports the same on the terminal."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_log() -> Iterator[None]:
    """Log only records with a traceback meanwhile: these the command does not report."""

    def has_traceback(record: logging.LogRecord) -> bool:
        return bool(record.exc_info)

    logger = logging.getLogger("ratewindow")
    logger.addFilter(has_traceback)
    try:
        yield
    finally:
        logger.removeFilter(has_traceback)
