"""A suggestion in words."""

import pytest
from django.utils.translation import override

from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.backtest.suggestion import Suggestion, suggest
from ratewindow.operations.backtest.suggestion_in_words import cautions, reason

MINUTE_MS, DAY_MS = 60_000, 86_400_000


@pytest.fixture(autouse=True)
def _in_english():
    with override("en"):
        yield


def crowd(clients: int, later: int = 1, innocent: bool = True) -> list[ClientPeak]:
    """Clients with peaks from 1 to 10; in the second half `later` times as high."""
    peaks = [1 + number % 10 for number in range(clients)]
    return [ClientPeak(f"ip:{number}", later * peak, peak, innocent, peak, later * peak) for number, peak in enumerate(peaks)]


def attacker(peak: int, innocent: bool = False) -> ClientPeak:
    return ClientPeak(f"ip:attacker-{peak}", peak, peak, innocent, 0, peak)


def found(*clients: ClientPeak, period_ms: int = MINUTE_MS, span_ms: int = DAY_MS, whole_seconds: bool = False) -> Suggestion:
    return suggest(clients, period_ms, span_ms, whole_seconds)


@pytest.mark.parametrize(
    ("suggestion", "text"),
    [
        (
            found(*crowd(300), attacker(90)),
            (
                "20 in 1 minute lies in a gap: 1 client takes 90 or more, and all others, with all likely innocent ones, "
                "take at most 10."
            ),
        ),
        (
            found(*crowd(2000), attacker(90, innocent=True), attacker(95)),
            (
                "20 in 1 minute lies in a gap: 2 clients take 90 or more, 1 of these likely innocent, and all others take at "
                "most 10."
            ),
        ),
        (
            found(*crowd(300)),
            "No client stands apart, so 15 in 1 minute is the highest peak of the likely innocent, 10, with headroom.",
        ),
        (
            found(*crowd(1000)),
            "No client stands apart, so 15 in 1 minute is the 99.9th percentile of the likely innocent, 10, with headroom.",
        ),
        (
            found(*crowd(300), span_ms=7_200_400),
            "The requests cover 2 hours; to suggest a limit for 1 minute takes at least 1 day.",
        ),
        (found(attacker(90)), "The requests are those of 1 client; to suggest a limit takes at least 200."),
        (
            found(*crowd(300), period_ms=100, whole_seconds=True),
            "The times of the requests are whole seconds, which say nothing about a period of 100 milliseconds.",
        ),
        (
            found(*crowd(300, innocent=False)),
            (
                "0 clients are likely innocent, and to suggest a limit takes at least 100: clients who got only "
                "successful answers (2xx or 3xx), were signed in, or are never to be refused."
            ),
        ),
    ],
)
def test_the_reason_is_one_sentence(suggestion: Suggestion, text: str) -> None:
    assert reason(suggestion) == text


def test_what_is_not_stable_says_so_with_both_numbers() -> None:
    assert reason(found(*crowd(300, later=3), attacker(200))).endswith(
        " This is not stable: the busiest of the likely innocent take 10 in the first half of the time and 30 in the "
        "second, which differ by more than a fifth."
    )


def test_a_half_that_says_too_little_is_not_stable() -> None:
    early = [ClientPeak(f"ip:{number}", 5, 5, True, 5, 0) for number in range(300)]
    assert "This is not stable: one half of the time has 0 likely innocent clients, of at least 50." in reason(found(*early))


def test_what_no_log_can_show_stands_beside_every_number() -> None:
    for each in (found(*crowd(300)), found(*crowd(300), attacker(90)), found(*crowd(300, later=3))):
        people, change = cautions(each)
        assert "behind one address" in people
        assert "once they are refused" in change
    assert cautions(found(attacker(90))) == []


def test_whole_seconds_are_coarse_for_a_period_of_seconds_alone() -> None:
    assert any("whole seconds" in text for text in cautions(found(*crowd(300), period_ms=5000, whole_seconds=True)))
    assert not any("whole seconds" in text for text in cautions(found(*crowd(300), whole_seconds=True)))


def test_likely_innocent_clients_far_above_all_others_are_to_be_looked_at() -> None:
    first = cautions(found(*crowd(300), attacker(4000, innocent=True)))[0]
    assert first == (
        "1 likely innocent client stands far above the others. If it is an exception, exempt it: without it, 15 is suggested."
    )
    assert cautions(found(*crowd(2000), attacker(4000, innocent=True)))[0] == (
        "Look at the likely innocent clients that it catches, and exempt those that it must not refuse."
    )
