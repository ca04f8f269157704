"""What admitted and refused clients are told, read by a parser of structured fields that is not ours."""

import time
from typing import Any

import http_sfv
import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from hypothesis import given
from hypothesis import strategies as st

from ratewindow import conf, ratelimit
from ratewindow.limiter import Limiter, MemoryStore
from ratewindow.limiter.types import Check, Decision, Window, WindowAnswer
from ratewindow.models import RateRule
from ratewindow.request import headers
from ratewindow.rulebook import reading
from ratewindow.testing import override_rules
from tests.support.clock import Clock
from tests.support.doors import answer, behind_middleware, decorated, get, plain

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])

Policies = dict[str, dict[str, Any]]


def parsed(text: str) -> Policies:
    """A list of strings with parameters, by name; every name is there once."""
    members = http_sfv.List()
    members.parse(text.encode("ascii"))
    found = {member.value: dict(member.params) for member in members}
    assert len(found) == len(members)
    assert all(isinstance(name, str) for name in found)
    assert all(type(number) is int for parameters in found.values() for number in parameters.values())
    return found


def told(response: HttpResponse) -> tuple[Policies, Policies]:
    return parsed(response["RateLimit-Policy"]), parsed(response["RateLimit"])


def written(*parts: Decision) -> HttpResponse:
    response = HttpResponse()
    headers.write(response, Decision.of(parts), conf.current().headers)
    return response


def passed(rule: str, *answers: WindowAnswer, **changed: Any) -> Decision:
    window, remaining, _, reset_ms, _ = answers[0]
    return Decision(
        **{
            "rule": rule,
            "limit": window.limit,
            "remaining": remaining,
            "reset_after": reset_ms / 1000,
            "windows": answers,
            "check": Check(rule, tuple(answer.window for answer in answers), ("",) * len(answers)),
            "at_s": 1_750_000_000.25,
            **changed,
        }
    )


MINUTE, DAY = Window(100, 60_000), Window(5000, 86_400_000)


def test_policy_and_limit_are_told_under_the_rules_names() -> None:
    response = written(
        passed("api.minute", WindowAnswer(MINUTE, 69, 0, 60_000)), passed("api.day", WindowAnswer(DAY, 880, 0, 86_400_000))
    )
    assert response["RateLimit-Policy"] == '"api.minute";q=100;w=60, "api.day";q=5000;w=86400'
    assert response["RateLimit"] == '"api.minute";r=69;t=60, "api.day";r=880;t=86400'
    assert told(response)[0] == {"api.minute": {"q": 100, "w": 60}, "api.day": {"q": 5000, "w": 86400}}


def test_several_windows_of_one_rule_are_told_apart_by_their_rates() -> None:
    response = written(passed("api", WindowAnswer(MINUTE, 69, 0, 1000), WindowAnswer(DAY, 880, 0, 1000)))
    assert set(told(response)[0]) == set(told(response)[1]) == {"api:100/m", "api:5000/d"}


@pytest.mark.parametrize(
    ("remaining", "wait_ms", "reset_ms", "expected"),
    [
        (80, 0, 1000, {"r": 80, "t": 60}),  # never 80;t=1, which would invite 80 a second
        (0, 0, 41_001, {"r": 0, "t": 42}),
        (0, 41_001, 41_001, {"r": 0, "t": 42}),
        (0, 1, 1, {"r": 0, "t": 1}),
        (0, -1, 0, {"r": 0}),
    ],
)
def test_seconds_are_the_window_while_units_are_left_and_the_exact_wait_after(
    remaining: int, wait_ms: int, reset_ms: int, expected: dict[str, int]
) -> None:
    response = written(passed("api", WindowAnswer(MINUTE, remaining, wait_ms, reset_ms)))
    assert told(response)[1] == {"api": expected}


@is_async
def test_nothing_is_left_for_who_is_locked_out(is_async: bool) -> None:
    RateRule.objects.define("tight", "1/s; 9/h", prefix="/", mode="enforce", penalty="15m")
    view = behind_middleware(plain(is_async))
    get(view)
    refused = get(view)
    assert refused["Retry-After"] == refused["RateLimit"].rpartition("=")[2] == "900"
    assert told(refused)[1] == {"tight:1/s": {"r": 0, "t": 900}, "tight:9/h": {"r": 0, "t": 900}}


def test_a_window_of_less_than_a_second_is_rounded_up() -> None:
    assert told(written(passed("api", WindowAnswer(Window(10, 500), 9, 0, 500))))[0] == {"api": {"q": 10, "w": 1}}


names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True)
answers = st.builds(
    WindowAnswer,
    st.builds(Window, st.integers(0, 2**20), st.integers(1, 2**32)),
    st.integers(0, 2**52),
    st.integers(-1, 2**52),
    st.integers(0, 2**52),
)


@given(names, st.lists(answers, min_size=1, max_size=3, unique_by=lambda each: each.window.text))
def test_whatever_was_decided_the_syntax_is_right(name: str, windows: list[WindowAnswer]) -> None:
    policy, limit = told(written(passed(name, *windows)))
    assert policy.keys() == limit.keys()
    assert all({"q", "w"} == parameters.keys() for parameters in policy.values())
    assert all(parameters.keys() <= {"r", "t"} and parameters.get("t", 1) >= 1 for parameters in limit.values())


def test_a_number_beyond_a_structured_field_is_told_as_the_greatest_there_is() -> None:
    policy, limit = told(written(passed("api", WindowAnswer(Window(2**52, 1), 2**52, 0, 1))))
    assert policy["api"]["q"] == limit["api"]["r"] == 999_999_999_999_999


def test_the_older_trio_tells_of_the_window_closest_to_exhaustion() -> None:
    response = written(
        passed("api.day", WindowAnswer(DAY, 880, 0, 86_400_000)), passed("api.minute", WindowAnswer(MINUTE, 69, 0, 59_700))
    )
    assert (response["X-RateLimit-Limit"], response["X-RateLimit-Remaining"]) == ("100", "69")
    assert response["X-RateLimit-Reset"] == "1750000060"  # a bucket leaves at .999 of each second, .25 + 59.7 s is near that


def test_reset_is_constant_over_a_burst() -> None:
    view = decorated(False, "burst", "5/m")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        resets = {int(get(view)["X-RateLimit-Reset"]) for _ in range(7)}
    assert max(resets) - min(resets) <= 1  # calls take a part of a millisecond, which may be the last of a second
    assert 58 <= resets.pop() - time.time() <= 62


@pytest.mark.parametrize("period_ms", [1000, 7000, 10_000, 60_000, 61_007, 3_600_000])
def test_it_is_constant_however_long_each_call_takes_and_whatever_the_clocks_differ(period_ms: int) -> None:
    """With sixty buckets of 167 ms, units leave at no whole second; a call reaches the server so many milliseconds later."""
    window = Window(200, period_ms)
    width_ms = -(-period_ms // 60)
    began_ms = 1_750_000_000_000 // width_ms * width_ms
    for bucket in range(100):
        leaves_ms = began_ms + bucket * width_ms - 1 + period_ms
        asked_ms, late_ms = leaves_ms - period_ms + width_ms // 3, min(60, width_ms // 2 - 1)
        told = set()
        for later_ms in range(-late_ms, late_ms + 1, 3):
            reset_ms = leaves_ms - asked_ms - later_ms
            decision = passed("api", WindowAnswer(window, 3, 0, reset_ms), at_s=asked_ms / 1000, window=window.text)
            told.add(dict(written(decision).items())["X-RateLimit-Reset"])
        assert told == {str(-(-leaves_ms // 1000))}


@pytest.mark.parametrize("rate", ["200/10s", "200/7s", "200/m"])
def test_it_is_constant_over_a_burst_on_a_server_too(rate: str) -> None:
    view = decorated(False, "burst.of.20", rate)
    assert len({get(view)["X-RateLimit-Reset"] for _ in range(25)}) == 1


@pytest.mark.parametrize("late_ms", [0, 1, 60, 600])
def test_where_units_leave_at_any_time_it_is_constant_while_they_are_charged(late_ms: int) -> None:
    """By the time of the charge, which is the server's; a clock that is not near this process's is not believed."""
    began_ms = 1_750_000_000_000
    for asked_ms in range(began_ms, began_ms + 2000, 7):
        charged_at_ms = asked_ms + late_ms
        for algorithm in ("sliding_window", "sliding_log"):
            window = Window(5, 60_000, algorithm)
            answer = WindowAnswer(window, 3, 0, began_ms + 59_001 - charged_at_ms, charged_at_ms)
            decision = passed("api", answer, at_s=asked_ms / 1000, window=window.text)
            assert dict(written(decision).items())["X-RateLimit-Reset"] == "1750000060"
    far = passed("api", WindowAnswer(window, 3, 0, 60_000, began_ms + 5000), at_s=began_ms / 1000, window=window.text)
    assert dict(written(far).items())["X-RateLimit-Reset"] == "1750000060"


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_it_is_constant_over_a_burst_of_a_bucket_too(algorithm: str) -> None:
    """Twenty of a hundred a minute, at 20 ms each: within the six tenths of a second in which one unit drains."""
    clock, resets = Clock(1_750_000_029_000), set()
    limiter = Limiter(MemoryStore(), clock_ms=clock)
    for _ in range(20):
        decision = limiter.hit("user:42", [Window(100, 60_000, algorithm, burst=100)])
        decision.at_s = clock.now_ms / 1000
        resets.add(of_families(decision, "x-ratelimit")["X-RateLimit-Reset"])
        clock.now_ms += 20
    assert resets == {"1750000030"}


def test_a_window_that_begins_with_the_clock_ends_with_it_whatever_the_clocks_differ() -> None:
    hour = Window(5, 3_600_000, "fixed_window", aligned_to="hour")
    for late_ms in (-300, -1, 0, 1, 300):
        answer = WindowAnswer(hour, 3, 0, 3_599_000 - late_ms)
        assert written(passed("api", answer, at_s=1_750_000_001.0, window=hour.text))["X-RateLimit-Reset"] == "1750003600"


def test_a_lock_ends_when_it_ends() -> None:
    locked = passed("api", WindowAnswer(Window(5, 3_600_000), 0, 0, 0), reset_after=90.25, reason="penalty", window="5/h")
    assert written(locked)["X-RateLimit-Reset"] == str(1_750_000_000 + 91)


@is_async
def test_who_waits_until_reset_finds_room(is_async: bool) -> None:
    view = decorated(is_async, "room", "1/2s")
    get(view)
    response = get(view)
    assert int(response["X-RateLimit-Reset"]) >= time.time() + float(response["Retry-After"]) - 1.5


@is_async
def test_admitted_and_refused_clients_are_told_alike(is_async: bool) -> None:
    view = decorated(is_async, "login", "2/m")
    responses = [get(view) for _ in range(3)]
    assert [response.status_code for response in responses] == [200, 200, 429]
    assert [told(response)[1]["login"]["r"] for response in responses] == [1, 0, 0]
    assert [response["X-RateLimit-Remaining"] for response in responses] == ["1", "0", "0"]
    assert {response["RateLimit-Policy"] for response in responses} == {'"login";q=2;w=60'}
    assert int(responses[2]["Retry-After"]) >= told(responses[2])[1]["login"]["t"]


def test_the_headers_that_a_view_has_set_itself_stay() -> None:
    @ratelimit("own", "5/m")
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok", headers={"RateLimit": '"mine";r=1', "x-ratelimit-limit": "7"})

    response = answer(view, RequestFactory().get("/"))
    assert (response["RateLimit"], response["X-RateLimit-Limit"]) == ('"mine";r=1', "7")
    assert response["RateLimit-Policy"] == '"own";q=5;w=60'


@is_async
def test_two_doors_write_one_header_with_the_rules_of_both(is_async: bool) -> None:
    RateRule.objects.define("outer", "5/m", path="/", mode="enforce")
    response = get(behind_middleware(decorated(is_async, "inner", "3/m")))
    assert set(told(response)[0]) == {"outer", "inner"}
    assert response["X-RateLimit-Limit"] == "3"
    assert len([name for name, _ in response.items() if name.lower().startswith(("ratelimit", "x-ratelimit"))]) == 5


@is_async
def test_who_is_refused_at_the_second_door_reads_that_the_first_has_its_unit_again(is_async: bool) -> None:
    RateRule.objects.define("outer", "2/h", path="/", mode="enforce")
    site = behind_middleware(decorated(is_async, "inner", "1/m"))
    assert get(site).status_code == 200
    refused = [get(site), get(site)]
    assert [response.status_code for response in refused] == [429, 429]
    assert [told(response)[1]["outer"]["r"] for response in refused] == [1, 1]
    assert all(int(response["Retry-After"]) <= 61 for response in refused)


@is_async
def test_who_is_refused_at_the_second_door_is_not_sent_back_before_the_first_has_room(is_async: bool) -> None:
    """The outer rule counts refused requests, too, and has no unit left for an hour; the inner one has one in a minute."""
    RateRule.objects.define("outer", "2/h", path="/", mode="enforce")
    RateRule.objects.update(count_refused=True)
    reading.reload()
    site = behind_middleware(decorated(is_async, "inner", "1/m"))
    assert get(site).status_code == 200
    refused = get(site)
    assert refused.status_code == 429
    assert told(refused)[1]["outer"]["r"] == 0
    assert int(refused["Retry-After"]) >= told(refused)[1]["outer"]["t"] > 3000


@is_async
def test_a_rule_that_only_looks_names_no_time_later_than_a_refused_client_is_to_come(is_async: bool) -> None:
    RateRule.objects.define("looks", "1/h", path="/", mode="enforce", key="global")
    site = behind_middleware(decorated(is_async, "refuses", "1/m"))
    assert get(site).status_code == 200
    RateRule.objects.filter(name="looks").update(cost=0)
    reading.reload()
    refused = get(site)
    limits = told(refused)[1]
    assert refused.status_code == 429
    assert limits["looks"] == {"r": 0}
    assert limits["refuses"]["t"] == int(refused["Retry-After"]) <= 61


@is_async
def test_a_shadow_rule_is_not_heard_of(is_async: bool) -> None:
    RateRule.objects.define("quiet", "1/m", path="/", mode="shadow")
    site = behind_middleware(plain(is_async))
    for _ in range(3):
        assert [name for name, _ in get(site).items() if "ratelimit" in name.lower() or name == "Retry-After"] == []


def test_a_shadow_rule_beside_an_enforced_one_is_not_heard_of() -> None:
    RateRule.objects.define("quiet", "1/m", path="/", mode="shadow")
    RateRule.objects.define("loud", "5/m", path="/", mode="enforce")
    site = behind_middleware(plain(False))
    for _ in range(3):
        response = get(site)
    assert set(told(response)[0]) == {"loud"}
    assert response["X-RateLimit-Limit"] == "5"
    assert "quiet" not in str(response.headers)


@pytest.mark.parametrize(
    ("families", "expected"),
    [
        ((), set()),
        (("ratelimit",), {"RateLimit-Policy", "RateLimit"}),
        (("x-ratelimit",), {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}),
        (("ratelimit-draft-6",), {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}),
        (("ratelimit-draft-7",), {"RateLimit-Policy", "RateLimit"}),
        (
            ("ratelimit", "ratelimit-draft-6"),
            {"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"},
        ),
    ],
)
def test_the_setting_chooses_the_families(families: tuple[str, ...], expected: set[str]) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "HEADERS": families}):
        response = get(decorated(False, "families", "5/m"))
    assert {name for name, _ in response.items()} - {"Content-Type"} == expected


def test_an_identity_never_appears() -> None:
    response = get(decorated(False, "secret", "5/m", key="header:x-api-key"), headers={"X-Api-Key": "hunter2"})
    assert "hunter2" not in str(response.headers)


def test_while_redis_is_away_nothing_is_promised() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        response = get(decorated(False, "away", "5/m"))
    assert [name for name, _ in response.items()] == ["Content-Type"]


def of_families(decision: Decision, *families: str) -> dict[str, str]:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "HEADERS": families}):
        return {name: value for name, value in written(*decision.decisions).items() if "RateLimit" in name}


@pytest.mark.parametrize(
    ("remaining", "wait_ms", "reset_ms", "reset"),
    [(69, 0, 1000, 60), (0, 0, 41_001, 42), (0, 41_001, 41_001, 42), (0, -1, 0, None)],
)
def test_the_older_drafts_tell_the_window_closest_to_exhaustion_in_seconds_from_now(
    remaining: int, wait_ms: int, reset_ms: int, reset: int | None
) -> None:
    refused = {"allowed": False, "retry_after": wait_ms / 1000} if wait_ms > 0 else {}
    day = passed("api.day", WindowAnswer(DAY, 880, 0, 86_400_000), window="5000/d")
    minute = passed("api.minute", WindowAnswer(MINUTE, remaining, wait_ms, reset_ms), window="100/m", **refused)
    both = Decision.of([day, minute])
    six = {"RateLimit-Limit": "100", "RateLimit-Remaining": str(remaining)}
    assert of_families(both, "ratelimit-draft-6") == six | ({} if reset is None else {"RateLimit-Reset": str(reset)})
    assert of_families(both, "ratelimit-draft-7") == {
        "RateLimit-Policy": "5000;w=86400, 100;w=60",
        "RateLimit": f"limit=100, remaining={remaining}" + ("" if reset is None else f", reset={reset}"),
    }


@pytest.mark.parametrize(
    ("algorithm", "reset_s"), [("token_bucket", 6), ("leaky_bucket", 6), ("sliding_log", 60), ("sliding_estimate", 57)]
)
def test_who_obeys_any_header_after_the_last_unit_and_after_a_refusal_is_admitted(algorithm: str, reset_s: int) -> None:
    """With ten a minute, all taken at once at the ninth second of a minute."""
    clock = Clock(1_750_000_029_000)
    limiter = Limiter(MemoryStore(), clock_ms=clock)
    windows = [Window(10, 60_000, algorithm, burst=10 if algorithm == "leaky_bucket" else None)]
    last = [limiter.hit("user:42", windows) for _ in range(10)][-1]
    for decision in (last, limiter.hit("user:42", windows)):
        decision.at_s = clock.now_ms / 1000
        assert decision.remaining == 0
        assert of_families(decision, "ratelimit")["RateLimit"] == f'"limiter";r=0;t={reset_s}'
        assert of_families(decision, "ratelimit-draft-6")["RateLimit-Reset"] == str(reset_s)
        assert of_families(decision, "ratelimit-draft-7")["RateLimit"].endswith(f"reset={reset_s}")
        assert of_families(decision, "x-ratelimit")["X-RateLimit-Reset"] == str(clock.now_ms // 1000 + reset_s)
    clock.now_ms += reset_s * 1000
    assert limiter.hit("user:42", windows)


@is_async
@pytest.mark.parametrize("family", ["ratelimit-draft-6", "ratelimit-draft-7"])
def test_the_older_drafts_say_nothing_of_shadow_rules_and_nothing_without_the_store(is_async: bool, family: str) -> None:
    RateRule.objects.define("quiet", "1/m", path="/", mode="shadow")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "HEADERS": [family]}):
        assert [name for name, _ in get(behind_middleware(plain(is_async))).items()] == ["Content-Type"]
        told = get(behind_middleware(decorated(is_async, "loud", "7/m")))
    assert "1" not in [part.partition(";")[0] for part in str(told.get("RateLimit-Policy")).split(", ")]
    with override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0", "HEADERS": [family]}):
        assert [name for name, _ in get(decorated(is_async, "away", "5/m")).items()] == ["Content-Type"]


@pytest.mark.parametrize("family", ["ratelimit-draft-6", "ratelimit-draft-7"])
def test_who_is_locked_out_is_told_so_in_the_older_drafts_too(family: str) -> None:
    RateRule.objects.define("tight", "1/s; 9/h", prefix="/", mode="enforce", penalty="15m")
    view = behind_middleware(plain(False))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "HEADERS": [family]}):
        get(view)
        told = get(view)
    reset = told.get("RateLimit-Reset") or told["RateLimit"].rpartition("=")[2]
    assert (told["Retry-After"], reset) == ("900", "900")


def test_of_very_many_windows_those_are_told_that_refuse_or_have_the_least_room() -> None:
    def part(name: str, remaining: int, wait_ms: int = 0) -> Decision:
        answered = WindowAnswer(Window(100, 60_000), remaining, wait_ms, 60_000)
        return passed(name, answered, allowed=not wait_ms, retry_after=wait_ms / 1000 or None)

    many = [part(f"{'x' * 60}.{number}", 20 + number) for number in range(100)]
    refusing = part("costly", 90, wait_ms=5000)  # nine units too few
    families = {"HEADERS": ["ratelimit"]}, {"HEADERS": ["ratelimit-draft-7"]}
    for family in families:
        with override_settings(RATEWINDOW={"REDIS": "memory://", **family}):
            response = written(*many[50:], refusing, *many[:50])
        assert len(response["RateLimit-Policy"]) + len(response["RateLimit"]) < 4096
    with override_settings(RATEWINDOW={"REDIS": "memory://", **families[0]}):
        policies, limits = told(written(*many[50:], refusing, *many[:50]))
    assert list(policies) == list(limits) == ["costly", *(part.rule for part in many[:15])]


def test_no_time_is_named_that_is_later_than_a_refused_client_may_come() -> None:
    view: Any = ratelimit("dear", "10/m", cost=lambda request: int(request.GET["cost"]))(plain(False))
    with override_rules(dear="10/m") as rules:
        get(view, "/?cost=3")
        rules.travel("30s")
        response = get(view, "/?cost=8")
    assert response["Retry-After"] in ("30", "31")
    assert response["RateLimit"] == '"dear";r=7'


@pytest.mark.parametrize("family", ["ratelimit-draft-6", "ratelimit-draft-7"])
def test_the_older_drafts_name_the_wait_where_too_few_units_are_left(family: str) -> None:
    refused = passed("dear", WindowAnswer(MINUTE, 7, 30_500, 30_500), allowed=False, retry_after=30.5, reset_after=30.5)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "HEADERS": (family,)}):
        response = written(refused)
    assert response.headers.get("RateLimit-Reset", response.headers.get("RateLimit", "")).endswith("31")


def test_a_request_that_costs_nothing_and_is_refused_is_told_when_to_come() -> None:
    @ratelimit("export", "10/m", cost=0)
    def view(request: HttpRequest) -> HttpResponse:
        request.ratewindow.charge(20)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    get(view)
    response = get(view)
    assert response.status_code == 429
    assert response["RateLimit"] == f'"export";r=0;t={response["Retry-After"]}'


def test_a_date_that_a_view_has_set_does_not_matter() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=503, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})

    assert get(ratelimit("login", "5/m")(view))["RateLimit"] == '"login";r=4;t=60'
