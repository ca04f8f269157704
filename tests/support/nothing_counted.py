"""A process that has counted nothing yet, and a moment at which all these tests happen."""

import pytest

from ratewindow.counting.counters import counters


@pytest.fixture(autouse=True)
def nothing_counted(redis_client):
    """What earlier tests counted must not arrive in the middle of these."""
    with counters._sending:
        counters.reset()
    redis_client.flushdb()
