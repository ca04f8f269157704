"""Faults that the log tells, each at most every ten minutes."""

import pytest

from ratewindow.conf import news
from ratewindow.conf.news import News


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    news.left_out.forget()


@pytest.fixture
def at_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time now, which a test moves."""
    now_s = [1000.0]
    monkeypatch.setattr(news.time, "monotonic", lambda: now_s[0])
    return now_s


def test_a_fault_that_lasts_or_comes_back_is_told_again(at_s: list[float]) -> None:
    told, kind = News(), ("store:timeout", "login")
    assert [told.is_new(kind), told.is_new(kind)] == [True, False]
    at_s[0] += news.AGAIN_S
    assert [told.is_new(kind), told.is_new(kind)] == [True, False]


def test_so_are_others_after_very_many_that_clients_have_made(at_s: list[float]) -> None:
    told = News()
    assert sum(told.is_new(("store:wrongtype", str(number))) for number in range(1000)) == news.MOST_KINDS
    at_s[0] += news.AGAIN_S
    assert told.is_new(("store:denied", "login"))


def test_each_thing_that_is_left_out_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        news.leave_out("count", "a\n\ud800", "no number\n")
    news.leave_out("site", "b", "x")
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: a count in Redis is left out, 'a\\n\\ud800' (logged every ten minutes): no number\\n",
        "ratewindow: a site in Redis is left out, 'b' (logged every ten minutes): x",
    ]


def test_a_flood_of_odd_names_fills_neither_the_log_nor_the_memory(caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10 * news.MOST_KINDS):
        news.leave_out("count", f"{number}" * 1000, "odd" * 1000)
    assert len(caplog.records) == news.MOST_KINDS
    assert max(len(record.getMessage()) for record in caplog.records) < 300
