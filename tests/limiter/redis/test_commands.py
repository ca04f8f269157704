"""What goes to a server for a decision: packed in few steps, and word by word the same."""

import pytest

from ratewindow.limiter.penalties import Growing
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis.commands import decide_call, packed, packed_decide
from ratewindow.limiter.types import Check, What, Window

ONE, SEVERAL = parse_rates("5/m"), parse_rates("5/s; 100/m; 1000/h")
OTHER = (Window(7, 1000, "sliding_log"), Window(7, 60_000, "leaky_bucket"))


def keys(client: str, windows: tuple[Window, ...]) -> tuple[str, ...]:
    return tuple(f"rwl:{window.tag}:{{{client}}}" for window in windows)


CHECKS = {
    "one window": [Check("a", ONE, keys("x", ONE))],
    "several windows": [Check("a", SEVERAL, keys("x", SEVERAL))],
    "a lock": [Check("a", SEVERAL, keys("x", SEVERAL), penalty_ms=1000, lock="rwl:lockhere:{x}")],
    "a lock that grows": [Check("a", ONE, keys("x", ONE), penalty_ms=Growing((5, 10), 99), lock="rwl:lockhere:{x}")],
    "another cost": [Check("a", ONE, keys("x", ONE), 7)],
    "several rules": [
        Check("a", SEVERAL, keys("x", SEVERAL)),
        Check("b", ONE, keys("y", ONE), 3, False),
        Check("c", OTHER, keys("z", OTHER), 1, True, True, 5000, "rwl:lockhere:{z}"),
        Check("d", ONE, keys("u", ONE), only_looks=True),
    ],
    "clients of several lengths": [Check("a", ONE, keys("x", ONE)), Check("b", ONE, keys("longer", ONE))],
    "lengths that look alike together": [Check("a", ONE * 3, ("rwl:four", "rwl:six66", "rwl:two"))],
    "a name that is not in ASCII": [Check("a", ONE, ("rwl:é",))],
    "several names that are not in ASCII": [Check("a", OTHER, ("rwl:éa", "rwl:ab"))],
}


@pytest.mark.parametrize("what", ["hit", "peek", "force", "charge", "refused"])
@pytest.mark.parametrize("checks", CHECKS.values(), ids=CHECKS)
def test_a_decision_is_packed_as_a_client_would_pack_its_words(checks: list[Check], what: What) -> None:
    call = decide_call(checks, what, None)
    assert packed_decide(checks, what, None) == (packed(call.by_sha()), call.parts)


def test_what_is_remembered_of_one_question_is_not_sent_for_another() -> None:
    for _ in range(2):
        for checks in CHECKS.values():
            for what in ("hit", "peek"):
                call = decide_call(checks, what, None)
                assert packed_decide(checks, what, None) == (packed(call.by_sha()), call.parts)


def test_a_time_and_edges_of_the_clock_are_not_packed_beforehand() -> None:
    aligned = (Window(5, 60_000, "fixed_window", aligned_to="minute"),)
    assert packed_decide(CHECKS["one window"], "hit", 1_000_000) is None
    assert packed_decide([Check("a", aligned, keys("x", aligned))], "hit", None) is None
