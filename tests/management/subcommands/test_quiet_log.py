"""While a command reports by itself, its log is quiet."""

import logging

import pytest

from ratewindow.management.subcommands.quiet_log import quiet_log

logger = logging.getLogger("ratewindow")


def test_only_records_with_a_traceback_are_logged_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    with quiet_log():
        logger.error("Redis was not reached")
        try:
            raise KeyError("ours")
        except KeyError:
            logger.exception("a bug")
    logger.error("afterwards")
    assert [record.message for record in caplog.records] == ["a bug", "afterwards"]
