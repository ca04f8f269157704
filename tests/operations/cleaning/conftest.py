"""Keys that the cleaner meets."""

import pytest


@pytest.fixture
def keys(redis_client):
    """Makes keys as the limiter would, and tells which are left."""

    def make(*names):
        for name in names:
            redis_client.set(name, "1", ex=60)

    make.left = lambda: set(redis_client.keys())
    return make
