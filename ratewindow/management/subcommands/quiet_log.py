"""A command says by itself what it has done and what was away: nobody shall read it in the log beneath, too."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def by_itself() -> Iterator[None]:
    """Nothing is logged meanwhile, but for what the command does not know: exceptions of ours, with their traceback."""

    def is_news(record: logging.LogRecord) -> bool:
        return bool(record.exc_info)

    logger = logging.getLogger("ratewindow")
    logger.addFilter(is_news)
    try:
        yield
    finally:
        logger.removeFilter(is_news)
