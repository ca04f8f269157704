"""The row of the kill switch."""

from datetime import UTC, datetime

import pytest

from ratewindow.models import LimitSwitch


@pytest.mark.parametrize(("off", "state"), [(True, "off"), (False, "on")])
def test_its_text_says_since_when(off: bool, state: str) -> None:
    switch = LimitSwitch(off=off, changed_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    assert str(switch) == f"limits {state} since 2026-01-02 03:04"
