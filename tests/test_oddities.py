"""What is odd in Redis is named once, counted, and forgotten after a while."""

import pytest

from ratewindow import oddities


def test_each_thing_is_named_once_and_counted_each_time(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        oddities.skip("count", "a\n\ud800", "no number\n")
    oddities.skip("site", "b", "x")
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: a count in Redis is left out, 'a\\n\\ud800' (told once): no number\\n",
        "ratewindow: a site in Redis is left out, 'b' (told once): x",
    ]
    assert (oddities.total(), oddities.recent()) == (4, 2)


def test_a_flood_of_odd_names_fills_neither_the_log_nor_the_memory(caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10 * oddities.MOST_NAMED):
        oddities.skip("count", f"{number}" * 1000, "odd" * 1000)
    assert len(caplog.records) == oddities.recent() == oddities.MOST_NAMED
    assert max(len(record.getMessage()) for record in caplog.records) < 300


def test_what_is_gone_for_a_while_is_told_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    oddities.skip("count", "a", "odd")
    now_s = oddities.time.monotonic()
    monkeypatch.setattr(oddities.time, "monotonic", lambda: now_s + oddities.RECENT_S + 1)
    assert oddities.recent() == 0
