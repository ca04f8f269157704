"""What clients are told: a time to come back that is there and true, and headers that parse."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import http_sfv

from conformance.cases.case import Group
from conformance.client import Answer, statuses
from conformance.running import Site
from conformance.verdict import NotApplicable, Verdict, judge

LONGEST_WAIT_S = 15
CASES = Group("answers", "views")


@CASES.case(
    "retry after", "Each refusal is a 429 with `Retry-After` in whole seconds, one at least, as clients' libraries read it."
)
def retry_after(site: Site) -> Verdict:
    client = site.client()
    client.several("/wait/", 3)
    refusals = []
    while (answer := client.get("/wait/")).refused and len(refusals) < 60:
        refusals.append(answer)
        time.sleep(0.1)
    wrong = [each for each in refusals if each.status != 429 or wait_of(each) < 1]
    told = ", ".join(sorted({f"{each.status} with {each.headers.get('Retry-After')!r}" for each in wrong}))
    return judge(bool(refusals) and not wrong, f"{len(wrong)} of {len(refusals)} refusals: {told}")


@CASES.case("come back", "A client that comes back after `Retry-After` is admitted.")
def come_back(site: Site) -> Verdict:
    return _after_waiting(site, 0.1, lambda answer: answer.ran, "refused again after the time that was told")


@CASES.case("not before", "One that comes back more than a second before `Retry-After` is refused: the time is not too long.")
def not_before(site: Site) -> Verdict:
    return _after_waiting(site, -1.3, lambda answer: answer.refused, "admitted more than a second before the time that was told")


def _after_waiting(site: Site, more_s: float, is_right: Callable[[Answer], bool], wrong: str) -> Verdict:
    """Four clients that are refused at different moments of their four seconds."""

    def play(asked_after_s: float) -> Answer | None:
        client = site.client()
        client.several("/wait/", 3)
        time.sleep(asked_after_s)
        wait_s = wait_of(client.get("/wait/"))
        if wait_s < 0:
            raise NotApplicable("sends no Retry-After")
        if not 0.2 < wait_s + more_s < LONGEST_WAIT_S:
            return None
        time.sleep(wait_s + more_s)
        return client.get("/wait/")

    with ThreadPoolExecutor(4) as pool:
        answers = [each for each in pool.map(play, (0.0, 0.6, 1.3, 2.6)) if each]
    bad = [each for each in answers if not is_right(each)]
    return judge(bool(answers) and not bad, f"{len(bad)} of {len(answers)} clients {wrong}")


def wait_of(answer: Answer) -> int:
    """In seconds; -1 where the header is absent or no whole number."""
    told = answer.headers.get("Retry-After", "")
    return int(told) if told.isascii() and told.isdigit() else -1


@CASES.case(
    "fields", "`RateLimit` and `RateLimit-Policy` are structured fields (RFC 9651) with the parameters of the IETF draft."
)
def fields(site: Site) -> Verdict:
    client = site.client()
    answers = client.several("/few/", 7)
    sent = [each for each in answers if "RateLimit" in each.headers or "RateLimit-Policy" in each.headers]
    if not sent:
        raise NotApplicable("sends no RateLimit fields")
    wrong = [problem for each in sent if (problem := _problem(each))]
    return judge(not wrong, f"{len(wrong)} of {len(sent)} answers: {wrong[0] if wrong else ''}")


def _problem(answer: Answer) -> str:
    policy, state = (answer.headers.get(name, "") for name in ("RateLimit-Policy", "RateLimit"))
    try:
        policies, states = _items(policy), _items(state)
    except ValueError as error:
        return f"{policy!r}, {state!r}: {error}"
    if not policies or not all(isinstance(name, str) and _whole(found, "q") and _whole(found, "w") for name, found in policies):
        return f"RateLimit-Policy: {policy} has no name with q and w"
    if not states or not all(isinstance(name, str) and _whole(found, "r") for name, found in states):
        return f"RateLimit: {state} has no name with r"
    unknown = {name for name, _ in states} - {name for name, _ in policies}
    return f"RateLimit names {unknown}, which RateLimit-Policy does not" if unknown else ""


def _items(text: str) -> list[tuple[object, dict[str, object]]]:
    parsed = http_sfv.List()
    parsed.parse(text.encode())
    return [(item.value, dict(item.params)) for item in parsed]


def _whole(found: dict[str, object], name: str) -> bool:
    return type(value := found.get(name)) is int and value >= 0


@CASES.case("remaining", "What is said to remain does remain: 4, 3, 2, 1, 0, and the next request is refused.")
def remaining(site: Site) -> Verdict:
    client = site.client()
    answers = client.several("/few/", 6)
    told = [_remaining(each) for each in answers[:5]]
    if told == [None] * 5:
        raise NotApplicable("tells admitted clients nothing")
    return judge(told == [4, 3, 2, 1, 0] and answers[5].refused, f"told {told}, answered {statuses(answers)}")


def _remaining(answer: Answer) -> int | None:
    told = answer.headers.get("X-RateLimit-Remaining", "")
    return int(told) if told.isdigit() else None
