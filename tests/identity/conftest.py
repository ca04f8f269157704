"""Keys of a site that a test adds go with it, and so does what was told of their errors."""

import pytest

from ratewindow import userfunctions
from ratewindow.identity import own


@pytest.fixture(autouse=True)
def _no_keys_of_earlier_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "_own", dict(own._own))
    monkeypatch.setattr(userfunctions, "failing", set())
