"""What is odd in Redis is named once, counted, and forgotten after a while."""

import pytest

from ratewindow.store import malformed


def test_each_thing_is_named_once_and_counted_each_time(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        malformed.skip("count", "a\n\ud800", "no number\n")
    malformed.skip("site", "b", "x")
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: a count in Redis is left out, 'a\\n\\ud800' (logged once): no number\\n",
        "ratewindow: a site in Redis is left out, 'b' (logged once): x",
    ]
    assert (malformed.total(), malformed.recent()) == (4, 2)


def test_a_flood_of_odd_names_fills_neither_the_log_nor_the_memory(caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10 * malformed.MOST_LOGGED):
        malformed.skip("count", f"{number}" * 1000, "odd" * 1000)
    assert len(caplog.records) == malformed.recent() == malformed.MOST_LOGGED
    assert max(len(record.getMessage()) for record in caplog.records) < 300


def test_what_is_gone_for_a_while_is_told_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    malformed.skip("count", "a", "odd")
    now_s = malformed.time.monotonic()
    monkeypatch.setattr(malformed.time, "monotonic", lambda: now_s + malformed.RECENT_S + 1)
    assert malformed.recent() == 0
