"""Keys of a site that a test adds go with it, and so does what was told of their errors."""

import pytest

from ratewindow.conf import site_functions
from ratewindow.conf.news import News
from ratewindow.identity import custom_keys


@pytest.fixture(autouse=True)
def _no_keys_of_earlier_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_keys, "_registered", dict(custom_keys._registered))
    monkeypatch.setattr(site_functions, "failing", News())
