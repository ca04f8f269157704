"""Settings that another library has left behind; those of throttles are in `rest_framework/test_views`."""

import sys
from types import ModuleType

import pytest
from django.test import override_settings

from tests.support.check_messages import found


@override_settings(RATELIMIT_ENABLE=False, RATELIMIT_VIEW="shop.views.slow_down")
def test_settings_that_django_ratelimit_has_left_behind_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "django_ratelimit", ModuleType("django_ratelimit"))
    assert found() == {}  # it is still at work
    monkeypatch.delitem(sys.modules, "django_ratelimit")
    told = found()["ratewindow.W012"]
    assert "have no effect: RATELIMIT_ENABLE, RATELIMIT_VIEW." in told
    assert "RATELIMIT_ENABLE: ENABLED; RATELIMIT_VIEW: nothing, but give the URLconf a handler429" in told
