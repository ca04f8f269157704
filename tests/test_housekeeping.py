"""The chores of a process; that they run at all is shown by the demo, whose workers hear of edits and send counts."""

import pytest

from ratewindow import housekeeping


def test_a_chore_that_fails_is_told_once_and_again_after_it_has_worked(caplog: pytest.LogCaptureFixture) -> None:
    outcomes = iter([RuntimeError("one"), RuntimeError("two"), None, RuntimeError("three")])

    def chore() -> None:
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome

    kept = housekeeping._Chore(chore, lambda: 1.0)
    for _ in range(4):
        housekeeping._attempt(kept)
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["one", "three"]
