"""The row of the kill switch."""

from datetime import UTC, datetime

import pytest

from ratewindow.models import LimitSwitch


@pytest.mark.parametrize(
    ("off", "text"), [(True, "limits off since 2026-01-02 03:04"), (False, "limits on since 2026-01-02 03:04")]
)
def test_its_text_says_since_when(off: bool, state: str) -> None:
    assert (
        str(LimitSwitch(off=off, changed_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))) == f"limits {state} since 2026-01-02 03:04"
    )
