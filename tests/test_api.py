"""Rules by name from any code, for requests and for identities, sync and async."""

import asyncio
import logging
from typing import Any

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from redis.exceptions import RedisError

import ratewindow
from ratewindow import Decision, RateLimited, ratelimit
from ratewindow.counting.counters import counters
from ratewindow.counting.sheets import ALL
from ratewindow.identity import custom_keys
from ratewindow.models import Override, RateRule
from ratewindow.request import decide
from ratewindow.request.prepare import ask_about
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.signals import throttled
from tests.support.check_messages import found
from tests.support.doors import behind_middleware, get

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def call(is_async: bool, name: str, *arguments: Any, **options: Any) -> Any:
    if is_async:
        return asyncio.run(getattr(ratewindow, f"a{name}")(*arguments, **options))
    return getattr(ratewindow, name)(*arguments, **options)


def tenant(request: HttpRequest) -> str | None:
    return request.headers.get("x-tenant")


async def plan(who: Any) -> str:
    return "1/d"


def counted(name: str, who: str) -> int:
    """What the row in shadow of that name has counted for the identity, beside the rate in code."""
    (told,) = decide.decide(ask_about(who, [current.rulebook().by_name[name].beside], 1), "peek").decisions
    assert told.limit is not None and told.remaining is not None
    return told.limit - told.remaining


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, mode=mode, overwrite=True, **fields)[0]


@is_async
def test_an_identity_is_admitted_up_to_the_limit(is_async: bool) -> None:
    define("mail", "2/h", key="user")
    assert [call(is_async, "hit", "mail", "user:42").allowed for _ in range(3)] == [True, True, False]
    assert call(is_async, "hit", "mail", "user:43").remaining == 1


@is_async
def test_a_request_and_its_identity_are_one_client(is_async: bool) -> None:
    define("form", "2/h", key="ip")
    request = RequestFactory().get("/", REMOTE_ADDR="2001:db8::1")
    call(is_async, "hit", "form", request)
    assert call(is_async, "hit", "form", "ip:2001:db8::2").remaining == 0


def test_a_joined_key_takes_a_tuple() -> None:
    define("form", "1/h", key="ip+header:x-api-key")
    request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9", headers={"x-api-key": "one"})
    assert ratewindow.hit("form", request)
    assert not ratewindow.hit("form", ("ip:203.0.113.9", "header:x-api-key:one"))


@is_async
def test_peek_charges_nothing_and_is_not_counted(is_async: bool) -> None:
    define("mail", "2/h")
    for _ in range(5):
        assert call(is_async, "peek", "mail", "user:42").remaining == 2
    assert not counters.held()


@is_async
def test_refund_gives_back_and_reset_forgets(is_async: bool) -> None:
    define("mail", "2/h", penalty="2h")
    for _ in range(2):
        call(is_async, "hit", "mail", "user:42")
    call(is_async, "refund", "mail", "user:42")
    assert call(is_async, "hit", "mail", "user:42")
    assert not call(is_async, "hit", "mail", "user:42")
    assert call(is_async, "hit", "mail", "user:42").reason == "penalty"
    call(is_async, "reset", "mail", "user:42")
    assert call(is_async, "hit", "mail", "user:42").remaining == 1


@is_async
def test_force_admits_whatever_stands_against_it(is_async: bool) -> None:
    define("mail", "1/h")
    call(is_async, "hit", "mail", "user:42")
    told = call(is_async, "hit", "mail", "user:42", force=True)
    assert (told.allowed, told.forced, told.reason) == (True, True, "")


@is_async
def test_a_refusal_can_be_raised(is_async: bool) -> None:
    define("mail", "0/h")
    with pytest.raises(RateLimited) as raised:
        call(is_async, "hit", "mail", "user:42", raise_exception=True)
    assert raised.value.decision.rule == "mail"


@is_async
def test_acquire_waits_its_turn(is_async: bool) -> None:
    define("slow", "1/200ms")
    assert [call(is_async, "acquire", "slow", "user:42", timeout="5s").allowed for _ in range(3)] == [True] * 3


@is_async
def test_a_request_that_waited_its_turn_has_been_admitted(is_async: bool) -> None:
    define("slow", "1/200ms")
    heard: list[Any] = []
    told: list[Any] = []

    def view(request: HttpRequest) -> HttpResponse:
        told.extend(ratewindow.acquire("slow", request, timeout="5s") for _ in range(3))
        return HttpResponse(str(request.ratewindow.allowed))  # type: ignore[attr-defined]

    async def aview(request: HttpRequest) -> HttpResponse:
        told.extend([await ratewindow.aacquire("slow", request, timeout="5s") for _ in range(3)])
        return HttpResponse(str(request.ratewindow.allowed))  # type: ignore[attr-defined]

    def listen(decision: Decision, **_: Any) -> None:
        heard.append(decision)

    throttled.connect(listen)
    try:
        response = get(behind_middleware(aview if is_async else view))
    finally:
        throttled.disconnect(listen)
    assert response.content == b"True"
    assert response["RateLimit-Policy"] == '"slow";q=1;w=1'
    assert (heard, [each.allowed for each in told]) == ([], [True, True, True])
    assert [sums["slow"].refused for sums in counters.held().values()] == [0]


@is_async
def test_a_request_whose_turn_comes_too_late_is_refused_once(is_async: bool) -> None:
    define("slow", "1/h")
    request = RequestFactory().get("/")
    heard: list[Any] = []

    def listen(decision: Decision, **_: Any) -> None:
        heard.append(decision)

    throttled.connect(listen)
    try:
        told = [call(is_async, "acquire", "slow", request, timeout="1s") for _ in range(2)]
    finally:
        throttled.disconnect(listen)
    assert heard == [told[1]]
    assert [(sums["slow"].passed, sums["slow"].refused) for sums in counters.held().values()] == [(1, 1)]


@is_async
@pytest.mark.parametrize("name", ["hit", "peek"])
def test_of_a_rule_in_shadow_it_tells_what_it_would_do(is_async: bool, name: str) -> None:
    define("trial", "1/h", "shadow")
    first = call(is_async, name, "trial", "user:42", cost=1)
    assert (first.rule, first.mode, first.limit, first.remaining) == ("trial", "shadow", 1, 0 if name == "hit" else 1)
    refused = call(is_async, name, "trial", "user:42", cost=2)
    assert (refused.allowed, refused.mode, refused.reason) == (True, "shadow", "cost")


DOORS: list[tuple[str, dict[str, Any]]] = [
    ("hit", {}),
    ("peek", {}),
    ("refund", {}),
    ("reset", {}),
    ("acquire", {"timeout": "1s"}),
]


@is_async
@pytest.mark.parametrize(("door", "options"), DOORS)
def test_a_name_that_nobody_has_defined_is_told_once(
    is_async: bool, door: str, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        call(is_async, door, "nobody.defined", "user:42", **options)
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: code names rule 'nobody.defined', which nobody has defined: requests pass"
    ]
    with pytest.raises(ValueError, match="'42' is not an identity"):
        call(is_async, door, "nobody.defined", "42", **options)


def test_of_names_that_code_makes_of_requests_a_bounded_number_is_logged_and_kept(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ratewindow"):
        for number in range(1000):
            assert ratewindow.hit(f"tenant-{number}", "user:42").allowed
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == len(current._held.missing) == 100


@is_async
@pytest.mark.parametrize(("door", "options"), DOORS)
@pytest.mark.parametrize("name", [None, "Bad Name", b"mail", 42, ["mail"], ""])
def test_a_name_that_no_rule_can_have_is_an_error(name: Any, is_async: bool, door: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is not a rule name: use at most 64"):
        call(is_async, door, name, "user:42", **options)


@pytest.mark.parametrize("rate", ["a function", "a row that is off"])
def test_a_name_that_somebody_has_defined_is_not_told_though_it_holds_for_nobody(
    rate: str, caplog: pytest.LogCaptureFixture
) -> None:
    if rate == "a function":
        ratelimit("dynamic", lambda request: "5/m")(lambda request: HttpResponse())
    else:
        define("dynamic", "5/m", "off")
    ratewindow.hit("dynamic", "user:42")
    assert not caplog.records


@pytest.mark.parametrize("who", [None, 42, b"user:42", (), [], User(pk=42), AnonymousUser()])
@pytest.mark.parametrize("blocked", [False, True], ids=["", "with-blocks"])
def test_who_is_neither_a_request_nor_an_identity_is_named(who: Any, blocked: bool) -> None:
    define("mail", "1/h")
    if blocked:
        Override.objects.block("user:43")
    for name in ("mail", "nobody.defined"):
        with pytest.raises(ValueError, match=r"is not an identity: write its kind and value, .* or give the request"):
            ratewindow.hit(name, who)


@is_async
def test_acquire_does_not_wait_for_a_turn_that_comes_too_late(is_async: bool) -> None:
    define("slow", "1/h")
    call(is_async, "acquire", "slow", "user:42", timeout="1s")
    assert not call(is_async, "acquire", "slow", "user:42", timeout="1s")


def test_a_rate_that_code_gives_is_a_rule_by_name_too() -> None:
    @ratelimit("only.in.code", "1/h", key="user")
    def view(request: HttpRequest) -> HttpResponse:
        raise NotImplementedError

    assert [ratewindow.hit("only.in.code", "user:42").allowed for _ in range(2)] == [True, False]


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_off_and_shadow_refuse_nobody(mode: str) -> None:
    define("mail", "0/h", mode)
    assert ratewindow.hit("mail", "user:42")
    assert ratewindow.hit("nobody.defined.this", "user:42")


def test_a_hit_inside_a_view_shows_in_its_headers_and_is_counted_once() -> None:
    define("site", "10/h", applies_to="all")
    define("work", "3/h")

    def view(request: HttpRequest) -> HttpResponse:
        ratewindow.hit("work", request)
        return HttpResponse("ok")

    response = get(behind_middleware(view))
    assert response.headers["X-RateLimit-Limit"] == "3"
    assert {rule for sums in counters.held().values() for rule in sums} - {ALL} == {"site", "work"}


@pytest.mark.parametrize("who", ["42", "", "user:", ("user:1", "")])
def test_an_identity_without_its_kind_is_named(who: Any) -> None:
    define("mail", "1/h")
    with pytest.raises(ValueError, match="is not an identity: write its kind and value"):
        ratewindow.hit("mail", who)


def test_an_address_that_is_none_is_named() -> None:
    define("mail", "1/h")
    with pytest.raises(ValueError, match=r"'1\.2\.3' is not an address"):
        ratewindow.hit("mail", "ip:1.2.3")


@is_async
def test_while_redis_is_away_a_refund_is_let_go_and_a_reset_says_so(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    define("mail", "1/h")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        call(is_async, "refund", "mail", "user:42")
        assert "a refund could not be made" in caplog.text
        with pytest.raises(RedisError):
            call(is_async, "reset", "mail", "user:42")


def test_a_cost_beyond_the_bound_is_the_bound() -> None:
    define("mail", "5/h", cost=1_000_000)
    told = ratewindow.hit("mail", "user:42", cost=2**50)
    assert told.reason == "cost"
    assert told.check is not None
    assert told.check.cost == 2**52


class TestARateThatACallGives:
    @is_async
    def test_holds_without_any_rule(self, is_async: bool) -> None:
        assert [call(is_async, "hit", "sms", "user:42", rate="2/h").allowed for _ in range(3)] == [True, True, False]
        assert call(is_async, "peek", "sms", "user:43", rate="2/h").remaining == 2
        assert call(is_async, "acquire", "sms", "user:43", timeout="1s", rate="2/h").remaining == 1

    def test_is_known_to_calls_without_one(self) -> None:
        ratewindow.hit("sms", "user:42", rate="1/h")
        assert not ratewindow.hit("sms", "user:42")
        ratewindow.refund("sms", "user:42")
        assert ratewindow.peek("sms", "user:42")
        assert code_rates.load_names() >= {"sms"}

    def test_ends_where_a_row_is_enforced(self) -> None:
        define("sms", "1/h")
        assert [bool(ratewindow.hit("sms", "user:42", rate="9/h")) for _ in range(2)] == [True, False]
        define("sms", "1/h", mode="off")
        assert [bool(ratewindow.hit("sms", "user:42", rate="9/h")) for _ in range(2)] == [True, True]

    @pytest.mark.parametrize("rate", ["", "5/parsec", 5, ["5/m"]])
    def test_that_is_none_is_named(self, rate: Any) -> None:
        with pytest.raises(ValueError, match=r"limits nothing|not a unit of time|is not a rate"):
            ratewindow.hit("sms", "user:42", rate=rate)

    @is_async
    @pytest.mark.parametrize("algorithm", ["sliding_window", "sliding_log", "fixed_window", "token_bucket", "sliding_estimate"])
    def test_is_that_call_s_own_limit_on_the_one_count_of_the_name(self, is_async: bool, algorithm: str) -> None:
        def post(rate: str) -> bool:
            return bool(call(is_async, "hit", "forum-post", "user:42", rate=rate, algorithm=algorithm))

        assert [post("5/d") for _ in range(6)] == [True] * 5 + [False]
        assert [post("15/d") for _ in range(11)] == [True] * 10 + [False]
        assert not post("5/d")
        assert call(is_async, "hit", "forum-post", "user:42", rate="15/h", algorithm=algorithm)  # of another window

    def test_may_be_another_than_code_gives_elsewhere(self) -> None:
        view = ratelimit("sms", "1/m", key="header:x-tenant")(lambda request: HttpResponse())
        request = RequestFactory().get("/", headers={"x-tenant": "one"})
        assert view(request).status_code == 200
        assert ratewindow.hit("sms", request, rate="2/m").remaining == 0  # by the key of the name, on its count
        assert get(view, headers={"x-tenant": "one"}).status_code == 429
        assert found() == {}

    def test_has_the_options_of_the_name_that_it_does_not_give(self) -> None:
        ratelimit("sms", "1/h", algorithm="token_bucket", message="Wait.", penalty="1h")(lambda request: HttpResponse())
        told = [ratewindow.hit("sms", "user:42", rate="2/h", burst=3) for _ in range(4)]
        assert [each.allowed for each in told] == [True] * 3 + [False]
        assert told[3].made_by is not None and told[3].made_by.windows[0].algorithm == "token_bucket"
        assert (told[3].made_by.message, told[3].made_by.penalty_ms) == ("Wait.", 3_600_000)

    @is_async
    def test_has_a_key_as_at_a_view(self, is_async: bool) -> None:
        user = User.objects.create(username="ann")
        ann, guest = RequestFactory().get("/"), RequestFactory().get("/")
        ann.user, guest.user = user, AnonymousUser()
        for request in (ann, guest):
            told = [call(is_async, "hit", "post", request, rate="1/d", key="user_or_ip").allowed for _ in range(2)]
            assert told == [True, False]
        assert not call(is_async, "hit", "post", f"user:{user.pk}", rate="1/d", key="user_or_ip")
        assert call(is_async, "hit", "post", "user:0", rate="1/d", key="user_or_ip")

    @pytest.mark.parametrize("key", [tenant, f"{__name__}.tenant", "header:x-tenant"], ids=["function", "path", "text"])
    def test_has_a_key_that_is_a_function_or_its_path(self, key: Any) -> None:
        one, two = (RequestFactory().get("/", headers={"x-tenant": name}) for name in ("one", "two"))
        assert [bool(ratewindow.hit("post", each, rate="1/d", key=key)) for each in (one, one, two)] == [True, False, True]

    def test_may_have_a_key_that_is_made_for_each_call(self) -> None:
        known = len(custom_keys.known())
        told = []
        for who in ("one", "two", "one"):
            request = RequestFactory().get("/")
            told.append(bool(ratewindow.hit("post", request, rate="1/d", key=lambda request: who)))
        assert told == [True, True, False]
        assert len(custom_keys.known()) == known + 1
        assert not ratewindow.peek("post", RequestFactory().get("/"))  # a call without one knows it, too

    def test_a_bad_key_is_named(self) -> None:
        with pytest.raises(ValueError, match="'usr' is not a key"):
            ratewindow.hit("post", "user:42", rate="1/d", key="usr")

    @pytest.mark.parametrize("name", ["hit", "peek", "refund", "reset"])
    def test_a_key_without_a_rate_belongs_to_the_rule(self, name: str) -> None:
        with pytest.raises(ValueError, match="key belongs to a rate in code: give a rate, or set it at the rule"):
            call(False, name, "post", "user:42", key="user")

    @is_async
    def test_may_be_a_function_that_is_given_whom_the_call_is_about(self, is_async: bool) -> None:
        plans = {"user:1": "1/d", "user:2": (2, 86400), "user:3": None}
        told = {who: [bool(call(is_async, "hit", "export", who, rate=plans.__getitem__)) for _ in range(3)] for who in plans}
        assert told == {"user:1": [True, False, False], "user:2": [True, True, False], "user:3": [True] * 3}
        request = RequestFactory().get("/", headers={"x-tenant": "1/d"})
        told_one = [bool(call(is_async, "hit", "upload", request, rate=tenant)) for _ in range(2)]
        assert told_one == [True, False]

    def test_a_function_that_fails_leaves_its_last_rate(self, caplog: pytest.LogCaptureFixture) -> None:
        plans: dict[str, Any] = {"user:1": "1/d", "user:2": "fast"}
        assert ratewindow.hit("export", "user:0", rate=plans.__getitem__)  # nothing was valid by now
        assert ratewindow.hit("export", "user:1", rate=plans.__getitem__)
        for who in ("user:2", "user:3"):
            assert [bool(ratewindow.hit("export", who, rate=plans.__getitem__)) for _ in range(2)] == [True, False]
        assert sum("the rate function of export failed" in line for line in caplog.messages) == 1

    def test_a_function_that_fails_leaves_the_rate_that_code_gives_elsewhere(self) -> None:
        ratelimit("export", "1/d")(lambda request: HttpResponse())
        assert [bool(ratewindow.hit("export", "user:0", rate={}.__getitem__)) for _ in range(2)] == [True, False]

    def test_may_be_an_async_function_where_it_is_awaited(self) -> None:
        async def plan(who: Any) -> str:
            return "1/d"

        assert [call(True, "hit", "export", "user:1", rate=plan).allowed for _ in range(2)] == [True, False]
        with pytest.raises(TypeError, match=r"the rate of export is given by an async function: await ahit\(\)"):
            ratewindow.hit("export", "user:1", rate=plan)

    @is_async
    def test_inherits_what_its_limits_can_have(self, is_async: bool) -> None:
        ratewindow.limit("bucket", "5/h", algorithm="token_bucket", burst=9)
        ratewindow.limit("daily", "20/d", algorithm="fixed_window", aligned_to="day")
        ratewindow.limit("fine", "500/h", buckets=50)

        def window(name: str, rate: Any, **options: Any) -> Any:
            decision = call(is_async, "hit", name, "user:42", rate=rate, **options)
            assert decision.made_by is not None
            of = decision.made_by.windows[0]
            return of.text, of.algorithm, of.burst, of.buckets, of.aligned_to

        for form in (lambda rate: rate, lambda rate: lambda who: rate):
            assert window("bucket", form("7/h")) == ("7/h", "token_bucket", 9, None, "")
            assert window("bucket", form("7/h"), algorithm="sliding_log") == ("7/h", "sliding_log", None, None, "")
            assert window("bucket", form("7/h"), algorithm="leaky_bucket")[2] == 1
            assert window("daily", form("9/d")) == ("9/d", "fixed_window", None, None, "day")
            assert window("daily", form("9/d"), algorithm="sliding_window")[1::3] == ("sliding_window", "")
            assert window("fine", form("5/m"), message="Wait.")[3] == 50
            assert window("fine", form("5/m"), algorithm="fixed_window")[3] is None

    @pytest.mark.parametrize(
        ("rate", "options", "problem"),
        [
            ("9/h", {"aligned_to": "day"}, "aligned_to 'day' does not go with a period of 1h"),
            ("9/d", {"burst": 3}, "burst 3: fixed_window has none"),
            ("often", {}, "'often' is not a rate"),
        ],
    )
    def test_that_says_itself_what_its_limits_cannot_have_is_named(self, rate: str, options: Any, problem: str) -> None:
        ratewindow.limit("daily", "20/d", algorithm="fixed_window", aligned_to="day")
        with pytest.raises(ValueError, match=problem):
            ratewindow.hit("daily", "user:42", rate=rate, **options)

    @is_async
    def test_and_a_rule_in_shadow_each_normalise_the_identity_in_their_own_way(self, is_async: bool) -> None:
        define("post", "5/h", mode="shadow", key="header:x-name", normalise=True)
        for number, name in enumerate(("Ann", "ann"), 1):
            decision = call(is_async, "hit", "post", f"header:x-name:{name}", rate="1/h", key="header:x-name")
            assert decision.allowed
            assert counted("post", "header:x-name:ann") == number

    @is_async
    def test_a_rule_in_shadow_counts_beside_it(self, is_async: bool, redis_client: redis.Redis) -> None:
        define("sms", "1/h", mode="shadow", methods="POST")
        told = [call(is_async, "hit", "sms", "user:42", rate="3/h") for _ in range(4)]
        assert [(each.allowed, each.limit, each.mode) for each in told] == [(True, 3, "enforce")] * 3 + [(False, 3, "enforce")]
        counted = counters.since_start()["sms"]
        assert (counted.refused, counted.would_refuse) == (1, 2)
        call(is_async, "refund", "sms", "user:42", 2, rate="3/h")
        assert call(is_async, "hit", "sms", "user:42", rate="3/h").remaining == 1
        call(is_async, "reset", "sms", "user:42", rate="3/h")
        assert call(is_async, "peek", "sms", "user:42", rate="3/h").remaining == 3
        assert not redis_client.keys("rw:s:*")

    @is_async
    def test_names_what_is_refunded_and_reset(self, is_async: bool) -> None:
        for name in ("refund", "reset"):
            assert call(is_async, "hit", "export", "user:1", rate="1/d")
            assert not call(is_async, "hit", "export", "user:1", rate="1/d")
            call(is_async, name, "export", "user:1", rate="9/d")
        assert call(is_async, "hit", "export", "user:1", rate="1/d")

    @is_async
    def test_has_options_as_at_a_view(self, is_async: bool) -> None:
        bucket: Any = {"rate": "1/h", "algorithm": "token_bucket", "burst": 3}
        assert [call(is_async, "hit", "sms", "user:42", **bucket).allowed for _ in range(4)] == [True] * 3 + [False]
        assert call(is_async, "peek", "sms", "user:43", **bucket).remaining == 3
        assert call(is_async, "acquire", "sms", "user:43", timeout="1s", **bucket).remaining == 2
        tried = [call(is_async, "hit", "mail", "user:42", rate="1/h", mode="shadow") for _ in range(2)]
        assert [(each.allowed, each.mode, each.reason) for each in tried] == [(True, "shadow", ""), (True, "shadow", "limit")]

    def test_options_without_a_rate_belong_to_the_rule(self) -> None:
        with pytest.raises(ValueError, match="penalty belongs to a rate in code: give a rate, or set it at the rule"):
            ratewindow.hit("sms", "user:42", penalty="1h")

    def test_the_status_and_message_of_a_rate_are_answered(self) -> None:
        def view(request: HttpRequest) -> HttpResponse:
            ratewindow.hit("sms", request, rate="0/h", raise_exception=True, status=503, message="No more today.")
            raise NotImplementedError

        with pytest.raises(RateLimited) as raised:
            view(RequestFactory().get("/"))
        answered = behind_middleware(view).process_exception(RequestFactory().get("/"), raised.value)  # type: ignore[attr-defined]
        assert answered.status_code == 503
        assert b"No more today." in answered.content

    def test_is_forgotten_where_names_have_no_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(code_rates, "MOST_BY_CALLS", 3)
        for number in range(9):
            ratewindow.hit(f"sms.{number}", "user:42", rate="5/h")
        assert len(code_rates.load_names() & {f"sms.{number}" for number in range(9)}) <= 3
        assert len(code_rates.uses().keys() & {f"sms.{number}" for number in range(9)}) <= 3
