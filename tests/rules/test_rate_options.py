"""Each option of a rate in code, at a view of each form, and what is wrong with a value."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.test import override_settings

import ratewindow
from ratewindow import RequestDecision, ratelimit
from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.rate_options import USUAL, CallOptions, Options, parse_call, parse_options
from ratewindow.testing import fresh_counts
from tests.support.doors import behind_middleware, get, statuses
from tests.support.view_forms import FORMS, limited, ok

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=FORMS, ids=lambda each: each.replace(" ", "-"))
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def decision_of(view: Any, **extra: Any) -> RequestDecision:
    """What the view's rate decides about one request more."""
    seen: list[Any] = []

    def outside(request: HttpRequest) -> Any:
        seen.append(request)
        return view(request)

    get(outside, **extra)
    found: RequestDecision = seen[0].ratewindow
    return found


def states(client: redis.Redis) -> dict[str, Any]:
    """What Redis holds of every count and lock."""
    return {key: client.dump(key) for key in client.keys("*:s:*")}  # type: ignore[union-attr]


class TestLimits:
    def test_a_burst_is_what_a_token_bucket_admits_at_once(self, form: str) -> None:
        view = limited(form, ratelimit("export", "1/h", algorithm="token_bucket", burst=3))
        assert statuses(view, 5) == [200, 200, 200, 429, 429]

    def test_an_algorithm_counts_in_its_own_way(self, form: str, redis_client: redis.Redis) -> None:
        view = limited(form, ratelimit("export", "2/h; 9/d", algorithm="sliding_log"))
        assert statuses(view, 3) == [200, 200, 429]
        assert {redis_client.type(key) for key in redis_client.keys("*:s:*")} == {"list"}  # type: ignore[union-attr]

    def test_a_window_may_begin_with_the_day(self, form: str) -> None:
        with override_settings(TIME_ZONE="Asia/Kathmandu"):
            view = limited(form, ratelimit(f"daily.{form.replace(' ', '-')}", "1/d", algorithm="fixed_window", aligned_to="day"))
            assert get(view).status_code == 200
            decision = decision_of(view)
        now = datetime.now(UTC) + timedelta(hours=5, minutes=45)
        left_s = 86_400 - (now - now.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
        assert decision.retry_after is not None
        assert (decision.retry_after - left_s + 30) % 86_400 < 60

    def test_buckets_are_how_finely_a_window_slides(self, form: str) -> None:
        view = limited(form, ratelimit("export", "500/h", buckets=50))
        assert decision_of(view).decisions[0].windows[0].window.buckets == 50


class TestMode:
    def test_a_rate_in_shadow_passes_and_is_reported_as_what_it_would_refuse(self, form: str) -> None:
        view = limited(form, ratelimit("export", "1/m", mode="shadow"))
        told = [decision_of(view) for _ in range(2)]
        assert [each.allowed for each in told] == [True, True]
        assert [each.decisions[0].outcome for each in told] == ["passed", "would_refuse"]
        answer = get(view)
        assert answer.status_code == 200
        assert not any("ratelimit" in header.lower() for header in answer.headers)


class TestMissing:
    @pytest.mark.parametrize(("choice", "answers"), [("ip", [200, 429]), ("allow", [200, 200]), ("refuse", [429, 429])])
    def test_what_happens_without_the_key_is_as_chosen(self, form: str, choice: str, answers: list[int]) -> None:
        view = limited(form, ratelimit("export", "1/m", key="header:x-api-key", on_missing=choice))
        assert statuses(view, 2) == answers


class TestWithoutRedis:
    @pytest.mark.parametrize(("choice", "answers"), [("allow", [200, 200]), ("refuse", [503, 503]), ("local", [200, 429])])
    def test_what_happens_is_as_chosen(self, form: str, choice: str, answers: list[int], settings: Any) -> None:
        settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
        assert statuses(limited(form, ratelimit("export", "1/m", on_error=choice)), 2) == answers


def fails_when_asked(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=401 if "x-fail" in request.headers else 200)


class TestCounting:
    @pytest.mark.parametrize("has_middleware", [False, True], ids=["alone", "middleware"])
    @pytest.mark.parametrize("hold", [False, True], ids=["look", "hold"])
    def test_only_some_answers_count(self, form: str, hold: bool, has_middleware: bool) -> None:
        view = limited(form, ratelimit("login", "2/m", count_when="401", hold=hold), fails_when_asked)
        if has_middleware:
            view = behind_middleware(view)
        assert statuses(view, 4) == [200] * 4
        assert statuses(view, 3, headers={"x-fail": "1"}) == [401, 401, 429]
        assert statuses(view, 1) == [429]

    def test_what_is_held_is_charged_while_the_view_runs(self, form: str) -> None:
        left: list[Any] = []

        def work(request: Any) -> HttpResponse:
            left.append(request.ratewindow.remaining)
            return ok(request)

        for hold in (False, True):
            get(limited(form, ratelimit(f"login.{hold}".lower(), "2/m", count_when="401", hold=hold), work))
        assert left == [2, 1]

    def test_only_failed_logins_count(self) -> None:
        def work(request: HttpRequest) -> HttpResponse:
            authenticate(request, username="ann", password="wrong")
            return ok(request)

        view = limited("sync function", ratelimit("login", "2/m", count_when="login_failed"), work)
        assert statuses(view, 3) == [200, 200, 429]

    def test_refused_requests_count_if_so_chosen(self, form: str, redis_client: redis.Redis) -> None:
        for count_refused in (False, True):
            view = limited(form, ratelimit(f"export.{count_refused}".lower(), "2/m", count_refused=count_refused))
            assert statuses(view, 2) == [200, 200]
            before = states(redis_client)
            # Not each one changes the state: two may come in the same millisecond.
            changed = any(states(redis_client) != before for _ in range(200) if get(view).status_code == 429)
            assert changed == count_refused
            redis_client.flushdb()

    def test_a_penalty_locks_the_client_out(self, form: str) -> None:
        view = limited(form, ratelimit("export", "1/s", penalty="15m"))
        assert statuses(view, 2) == [200, 429]
        decision = decision_of(view)
        assert decision.retry_after == pytest.approx(900, abs=5)

    def test_a_penalty_may_be_a_list_that_grows(self, form: str) -> None:
        view, waits = limited(form, ratelimit("export", "1/s", penalty="10m; 1h")), []
        with fresh_counts() as counts:
            for _ in range(3):
                assert statuses(view, 1) == [200]
                waits.append(decision_of(view).retry_after)
                counts.travel("1h")
        assert waits == [pytest.approx(each, abs=5) for each in (600, 3600, 3600)]


class TestAnswer:
    def test_status_and_message_are_seen(self, form: str) -> None:
        view = limited(form, ratelimit("export", "0/m", status=503, message="Exports are closed <today>."))
        answer = get(view, headers={"accept": "text/html"})
        assert answer.status_code == 503
        assert "Exports are closed &lt;today&gt;." in answer.content.decode()


class TestFunction:
    def test_the_rate_of_a_function_has_the_options_too(self, form: str) -> None:
        view = limited(form, ratelimit("export", lambda request: "1/h", algorithm="token_bucket", burst=2, status=420))
        assert statuses(view, 3) == [200, 200, 420]


BAD = [
    ({"algorithm": "guesswork"}, "'guesswork' is not an algorithm: choose from sliding_window"),
    ({"algorithm": 5}, "algorithm 5 has the wrong type: write text"),
    ({"burst": 20}, "burst 20: sliding_window has none, leave it out"),
    ({"burst": 0, "algorithm": "token_bucket"}, "burst 0: write a whole number from 1 to"),
    ({"burst": True, "algorithm": "token_bucket"}, "burst True: write a whole number"),
    ({"buckets": 0}, "buckets 0: write 1 to"),
    ({"aligned_to": "day"}, "aligned_to 'day': only fixed_window begins with the clock"),
    ({"aligned_to": "year", "algorithm": "fixed_window"}, "aligned_to 'year' does not go with a period of 1m: write minute"),
    ({"aligned_to": None}, "aligned_to None has the wrong type: write text"),
    ({"mode": "off"}, "mode 'off' is unknown: write 'enforce' or 'shadow'"),
    ({"mode": ["shadow"]}, "mode \\['shadow'\\] is unknown"),
    ({"on_missing": "pass"}, "on_missing 'pass' is unknown: write 'ip' or 'allow' or 'refuse'"),
    ({"on_error": "open"}, "on_error 'open' is unknown: write '' or 'allow' or 'refuse' or 'local'"),
    ({"count_when": "sometimes"}, "'sometimes' is not a status: write always, login_failed, or statuses such as 401,403,5xx"),
    ({"count_when": 401}, "count_when 401 has the wrong type: write text"),
    ({"hold": True}, "every request counts, so nothing is refunded or forgiven: write what counts"),
    ({"hold": 1}, "hold 1 has the wrong type: write True or False"),
    ({"count_refused": "yes"}, "count_refused 'yes' has the wrong type: write True or False"),
    ({"penalty": 900}, "penalty: 900 has no unit: write text such as"),
    ({"penalty": "soon"}, "penalty: 'soon' is not a duration"),
    ({"penalty": "99999999d"}, "too long"),
    ({"penalty": "1h; 1m"}, "penalty: '1h; 1m' has a duration that is shorter than the one before: write the shorter ones first"),
    ({"forgive": True}, "every request counts, so nothing is refunded or forgiven: write what counts"),
    ({"forgive": 1, "count_when": "401"}, "forgive 1 has the wrong type: write True or False"),
    ({"status": 200}, "status 200: write a whole number from 400 to 599"),
    ({"status": "429"}, "status '429' has the wrong type: write a whole number"),
    ({"message": 5}, "message 5 has the wrong type: write text"),
    ({"message": "x" * 301}, "message 'x+: write a text of at most 300 characters"),
]


@pytest.mark.parametrize("rate", ["5/m", lambda request: "5/m"], ids=["text", "function"])
@pytest.mark.parametrize(("options", "problem"), BAD, ids=str)
def test_a_bad_value_is_named_at_import_with_the_remedy(options: Any, problem: str, rate: Any) -> None:
    with pytest.raises(ValueError, match=problem):
        ratelimit("export", rate, **options)


def test_an_option_that_does_not_go_with_the_rate_is_named_at_import() -> None:
    with pytest.raises(ValueError, match="aligned_to 'day' does not go with a period of 1m: write minute with 1m"):
        ratelimit("export", "5/m; 100/d", algorithm="fixed_window", aligned_to="day")
    with pytest.raises(ValueError, match="rate '5/m; 9/h; 9/d; 9/2d' has 4000 buckets in its limits, of at most 3000"):
        ratelimit("export", "5/m; 9/h; 9/d; 9/2d", buckets=1000)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("algoritm", ": did you mean 'algorithm'"),
        ("frobnicate", "$"),
    ],
)
def test_an_unknown_option_is_named_with_the_nearest(name: str, remedy: str) -> None:
    with pytest.raises(TypeError, match=rf"ratelimit\(\) has no argument '{name}'{remedy}"):
        ratelimit("export", "5/m", **{name: "x"})  # type: ignore[misc]


def test_a_call_is_charged_at_once() -> None:
    with pytest.raises(TypeError, match=r"hit\(\) has no argument 'hold'"):
        parse_options({"hold": True}, "hit()", CallOptions)


def test_an_option_without_a_rate_says_where_it_belongs() -> None:
    with pytest.raises(ValueError, match="burst belongs to a rate in code: give a rate, or set it at the rule in the admin"):
        ratelimit("export", burst=5)
    ratelimit("export", None, mode="shadow")  # a rate that a setting may have switched off


def test_words_are_what_stands_in_code() -> None:
    assert parse_options({}) is USUAL and USUAL.words == ""
    given = {"mode": "shadow", "penalty": timedelta(minutes=15), "status": 503, "count_when": " 401 5XX"}
    assert parse_options(given).words == "mode='shadow', count_when='401,5xx', penalty='15m', status=503"
    assert parse_options({"burst": None, "status": 429}) == USUAL
    assert parse_options({"penalty": "60s;5m", "forgive": True, "count_when": "401"}).words == (
        "count_when='401', forgive=True, penalty='1m; 5m within 1d'"
    )


def test_usual_limits_are_those_of_the_rate_alone() -> None:
    assert USUAL.windows("5/m; 20/h") == parse_rates("5/m; 20/h")
    assert [each.algorithm for each in Options("sliding_log").windows("5/m; 20/h")] == ["sliding_log"] * 2


def test_a_call_has_of_a_views_options_what_its_rate_can_have() -> None:
    usual = parse_options({"algorithm": "fixed_window", "aligned_to": "hour"})
    assert parse_call({}, usual, "30/h").aligned_to == "hour"
    assert parse_call({}, usual, "5/90m").aligned_to == ""
    assert parse_call({"algorithm": "sliding_log"}, usual, "30/h").aligned_to == ""
    with pytest.raises(ValueError, match=r"status \[429\] has the wrong type: write a whole number"):
        ratewindow.hit("sms", "user:42", rate="5/m", status=[429])  # type: ignore[arg-type]
