"""What admitted and refused clients are told, read by a parser of structured fields that is not ours."""

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from hypothesis import given, strategies as st

from ratewindow import ratelimit
from ratewindow.limiter.types import Decision, Window, WindowAnswer
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from tests.support.doors import answer, behind_middleware, decorated, get, plain
from tests.support.limit_headers import DAY, MINUTE, passed, told, written

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True)
answers = st.builds(
    WindowAnswer,
    st.builds(Window, st.integers(0, 2**20), st.integers(1, 2**32)),
    st.integers(0, 2**52),
    st.integers(-1, 2**52),
    st.integers(0, 2**52),
)


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


@given(names, st.lists(answers, min_size=1, max_size=3, unique_by=lambda each: each.window.text))
def test_whatever_was_decided_the_syntax_is_right(name: str, windows: list[WindowAnswer]) -> None:
    policy, limit = told(written(passed(name, *windows)))
    assert policy.keys() == limit.keys()
    assert all({"q", "w"} == parameters.keys() for parameters in policy.values())
    assert all(parameters.keys() <= {"r", "t"} and parameters.get("t", 1) >= 1 for parameters in limit.values())


def test_a_number_beyond_a_structured_field_is_told_as_the_greatest_there_is() -> None:
    policy, limit = told(written(passed("api", WindowAnswer(Window(2**52, 1), 2**52, 0, 1))))
    assert policy["api"]["q"] == limit["api"]["r"] == 999_999_999_999_999


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


def test_of_very_many_windows_sixteen_are_told() -> None:
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
    assert list(policies) == list(limits) == [part.rule for part in many[50:66]]
