"""The headers of older drafts and of other families."""

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import override_settings

from ratewindow import ratelimit
from ratewindow.limiter import Limiter, MemoryStore
from ratewindow.limiter.types import Decision, Window, WindowAnswer
from ratewindow.models import RateRule
from tests.support.clock import Clock
from tests.support.doors import behind_middleware, decorated, get, plain
from tests.support.limit_headers import DAY, MINUTE, of_families, passed, written

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def test_the_older_trio_tells_of_the_window_closest_to_exhaustion() -> None:
    response = written(
        passed("api.day", WindowAnswer(DAY, 880, 0, 86_400_000)), passed("api.minute", WindowAnswer(MINUTE, 69, 0, 59_700))
    )
    assert (response["X-RateLimit-Limit"], response["X-RateLimit-Remaining"]) == ("100", "69")
    assert response["X-RateLimit-Reset"] == "1750000060"  # a bucket leaves at .999 of each second, .25 + 59.7 s is near that


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
