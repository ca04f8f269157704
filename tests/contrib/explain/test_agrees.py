"""What is explained is what enforcing does: every spelling of a path, twenty rules, and not a byte of state touched."""

from collections.abc import Iterator
from io import BytesIO
from itertools import dropwhile
from typing import Any
from urllib.parse import unquote

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.auth.models import AnonymousUser, User
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path, re_path
from django.utils.decorators import method_decorator
from django.views.generic import View

from ratewindow import ratelimit
from ratewindow.contrib.explain.explanation import Description, Explanation, Line, explain
from ratewindow.contrib.explain.words import EFFECTS
from ratewindow.models import Override, RateRule
from tests.support.spellings import SPELLINGS, Spelling, encoded
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


def page(request: HttpRequest, **_: Any) -> HttpResponse:
    return HttpResponse("ok")


@method_decorator(ratelimit("agree.get", "30/d"), name="get")
class Shown(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")

    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok", status=401)


@ratelimit("agree.class", "25/d", key="ip")
class Limited(Shown):
    pass


@method_decorator(ratelimit("agree.dispatch", "8/d"), name="dispatch")
@method_decorator(ratelimit(rate="7/d"), name="dispatch")
class Dispatched(Shown):
    pass


def stacked() -> Any:
    inner = ratelimit("agree.inner", "9/d")(page)
    return ratelimit("agree.outer", "12/d", key="user_or_ip")(ratelimit("agree.asks", "4/d", block=False)(inner))


OTHERS = [
    "/search /searchX /search/deeper /search%2F /SEARCH /loud/ /LOUD/ /lo%55d/ /two /two/ /tw%6f /de/account/ /account/",
    "/orders/7/ /orders/007/ /orders/8/ /de/orders/7/ /api/ /api /api/x /api%2Fx /API/x /nothing/ /nothing //api/x",
    "/pt-br/account/ /api/../login/ /stacked/ /stacked /shown/ /limited/ /limited/?a=1 /stacked/%20 / ?",
]
ENCODED = ["/search", "/loud/", "/two", "/account/", "/orders/7/", "/api/x", "/stacked/", "/shown/", "/limited/", "/dispatched/"]
MADE = [
    *SPELLINGS,
    *map(Spelling, " ".join(OTHERS).split()),
    *(Spelling(target) for each in ENCODED for target in encoded(each, 8)),
    *(Spelling(target, "POST") for target in ("/shown/", "/limited/", "/stacked/", "/login/", "/api/x", "/nothing/")),
    *(Spelling(target, "HEAD") for target in ("/shown/", "/limited/", "/stacked/", "/api/x")),
]
# A server refuses what begins with neither a slash nor a scheme.
ALL = [each for each in MADE if each.target.startswith("/") or "://" in each.target]


@pytest.fixture
def rules() -> Iterator[None]:
    define = RateRule.objects.define
    for name, rate, fields in (
        ("login", "40/d", {"path": "/login/", "penalty": "1d"}),
        ("login.shadow", "9/d", {"path": "/login/"}),
        ("login.post", "2/d", {"path": "/login/", "methods": "POST", "count_refused": True}),
        ("login.user", "30/d; 33/w", {"path": "/login/", "key": "user", "on_missing": "allow"}),
        ("login.token", "90/d", {"path": "/login/", "key": "header:x-token", "on_missing": "refuse", "methods": "PUT"}),
        ("all", "400/d", {"applies_to": "all", "key": "global", "algorithm": "fixed_window"}),
        ("all.tenth", "20/d", {"applies_to": "all", "enforce_percent": 40}),
        ("api", "20/d", {"prefix": "/api/", "cost": 3}),
        ("api.refuses", "0/d", {"prefix": "/api/x", "methods": "POST"}),
        ("search", "25/d", {"path": "/search", "algorithm": "sliding_log"}),
        ("search.regex", "15/d", {"regex": "^/sea.*(deeper|X)$"}),
        ("loud", "20/d", {"path": "/loud/", "hold": True, "count_when": "401"}),
        ("account", "18/d", {"path": "/account/", "algorithm": "sliding_estimate"}),
        ("orders", "22/d", {"route": "order", "key": "ip+path"}),
        ("two", "24/d", {"path": "/two/", "count_when": "200"}),
        ("agree.outer", "11/d", {"key": "ip"}),  # in shadow, beside code
        ("agree.class", "20/d", {"mode": "enforce"}),  # instead of code
        ("off", "1/d", {"applies_to": "all", "mode": "off"}),
        ("named", "1/d", {"mode": "enforce"}),
        ("nowhere", "1/d", {"path": "/not-there/", "methods": "POST"}),
    ):
        shadow = name in ("login.shadow", "agree.outer")
        define(name, rate, **{"mode": "shadow" if shadow else "enforce", **fields})
    override = Override.objects
    override.block("ip:203.0.113.66", reason="scraping")
    override.block("ip:203.0.113.67", rule="login", duration="1h")
    override.allow("ip:203.0.113.68", rule="all.tenth")
    override.rate("ip:203.0.113.69", "5/d", rule="login")
    override.allow("user:2", reason="our own")
    urls = site(
        *i18n_patterns(path("account/", page), path("orders/<int:pk>/", page, name="order"), prefix_default_language=False),
        path("login/", page, name="login"),
        re_path("^search", page),
        re_path("(?i)^loud/$", page),
        path("two", page, name="two"),
        path("two/", page, name="two"),
        path("api/<path:rest>", page),
        path("stacked/", stacked()),
        path("shown/", Shown.as_view()),
        path("limited/", Limited.as_view()),
        path("dispatched/", Dispatched.as_view()),
    )
    languages = [("en", "English"), ("de", "German"), ("pt-br", "Portuguese")]
    with urls, override_settings(MIDDLEWARE=["ratewindow.middleware.RateWindowMiddleware"], LANGUAGES=languages):
        yield


def sent(spelling: Spelling, address: str, user: Any) -> HttpRequest:
    """The request as the server of Python's own library hands it to Django."""
    target = spelling.target
    if "://" in target:
        target = "/" + target.partition("://")[2].partition("/")[2]
    target, _, query = target.partition("#")[0].partition("?")
    headers = [each.partition(":") for each in spelling.headers]
    request = WSGIRequest(
        {
            "REQUEST_METHOD": spelling.method,
            "PATH_INFO": unquote(target, "iso-8859-1"),
            "QUERY_STRING": query,
            "REMOTE_ADDR": address,
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "wsgi.input": BytesIO(),
            **{f"HTTP_{name.upper().replace('-', '_')}": value.strip() for name, _, value in headers},
        }
    )
    request.user = user
    return request


def state(redis_client: Any) -> dict[str, Any]:
    """Every key with its type, value and the time at which it ends."""
    raw = redis_client.connection_pool.connection_kwargs
    with type(redis_client)(host=raw["host"], port=raw["port"], db=raw["db"]) as client:
        keys = sorted(client.scan_iter(count=1000))
        pipe = client.pipeline(transaction=False)
        for key in keys:
            pipe.dump(key)
            pipe.execute_command("PEXPIRETIME", key)
        answers = pipe.execute()
    return dict(zip(keys, zip(answers[::2], answers[1::2], strict=True), strict=True))


def reached(found: Explanation) -> list[Line]:
    """The rules up to the door that refuses."""
    behind = [*dropwhile(lambda stage: not stage.refuses, found.stages)][1:]
    return [line for line in found.lines if not any(line.rule is rule for stage in behind for rule in stage.rules)]


def expected(found: Explanation) -> dict[tuple[str, bool], str]:
    """The outcome of each rule that the explanation expects to be counted."""
    others = "passed" if found.refused is None else "other"
    outcomes = {"refuses": "refused", "passes": others, "would refuse": "would_refuse" if found.refused is None else "other"}
    return {(line.rule.name, line.rule.is_beside): outcomes[line.effect] for line in reached(found) if line.effect in outcomes}


@pytest.mark.long
def test_an_explanation_says_what_enforcing_does_and_touches_no_state(rules: None, redis_client: Any) -> None:
    assert RateRule.objects.count() == 20
    assert len({(each.target, each.method, each.headers) for each in ALL}) >= 400
    people = [AnonymousUser(), User(pk=1, username="ann"), User(pk=2, username="bob")]
    for person in people[1:]:
        person.save()
    clients = [(f"203.0.113.{last}", people[who]) for last, who in ((9, 0), (9, 1), (10, 2), (66, 0), (67, 0), (68, 0), (69, 0))]
    handler, refused, effects = BaseHandler(), 0, set()
    handler.load_middleware()
    for number, spelling in enumerate(ALL):
        address, person = clients[number % len(clients)]
        asked = Description(
            spelling.method,
            spelling.target,
            address,
            f"user:{person.pk}" if person.pk else "",
            {name: value for name, _, value in (each.partition(":") for each in spelling.headers)},
        )
        before = state(redis_client)
        found = explain(asked)
        assert state(redis_client) == before, spelling
        request = sent(spelling, address, person)
        response = handler.get_response(request)
        visit = request._ratewindow  # type: ignore[attr-defined]
        decisions = visit.decision.decisions
        told = {(part.rule, part.made_by.is_beside): part.outcome for part in decisions if part.reason != "block"}
        blocked = any(part.reason == "block" for part in decisions)
        assert (found.refused is None) == (response.status_code != 429), spelling
        assert any(line.effect == "blocked" for line in found.lines) <= blocked
        if not blocked:
            assert expected(found) == told, spelling
            if found.refused is None:
                assert used_then(found) == used_now(decisions), spelling
        refused += found.refused is not None
        effects |= {line.effect for line in found.lines}
    assert 100 < refused < len(ALL) - 100
    assert effects == set(EFFECTS)


def used_then(found: Explanation) -> dict[tuple[str, bool], list[int]]:
    """What will be left by the explanation, where the rule charges at once."""
    left = {}
    for line in found.lines:
        part = line.decision
        if part is not None and part.check is not None and line.rule.count_when is None and not line.rule.count_refused:
            charges = line.effect == "passes"
            left[line.rule.name, line.rule.is_beside] = [each.remaining - charges * part.check.cost for each in part.windows]
    return left


def used_now(decisions: Any) -> dict[tuple[str, bool], list[int]]:
    return {
        (part.rule, part.made_by.is_beside): [each.remaining for each in part.windows]
        for part in decisions
        if part.check is not None and part.made_by.count_when is None and not part.made_by.count_refused
    }
