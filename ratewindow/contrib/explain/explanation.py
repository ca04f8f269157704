"""An explanation as a value: what each rule makes of a request on its way through its doors, and the answer.

The request is made as a server would make it, from what a person says of it, and sent to nobody. It is judged as the guards
would judge it, but for the charges: they only peek.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.apps import apps
from django.conf import settings
from django.http import HttpRequest
from django.test.client import RequestFactory
from django.urls import get_script_prefix
from django.utils.translation import gettext_lazy as _

from ratewindow import conf, rooms
from ratewindow.conf import site_functions, time_zone
from ratewindow.conf.in_words import one_of
from ratewindow.identity.address import SUPPOSED, parse_address
from ratewindow.identity.request_attributes import match_of
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import Decision, RuleDecision
from ratewindow.models import Override
from ratewindow.overrides import users
from ratewindow.overrides.lookup import Ruling
from ratewindow.overrides.subjects import as_subject
from ratewindow.request import decide, open_to_staff
from ratewindow.request.doors import Door, PathDoor, ViewDoor, doors_of
from ratewindow.request.guard import Passage
from ratewindow.rulebook import current, kill_switch
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule

FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Description:
    """A request in words: `path` may have a query string, or be a whole URL. `fields` are those of a form, or of JSON if the
    header Content-Type says so."""

    method: str = "GET"
    path: str = "/"
    address: str = ""
    user: str = ""  # a primary key or a login name; empty: nobody is signed in
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


def pairs(lines: Iterable[str], separator: str) -> dict[str, str]:
    """Names and values, of headers or of fields. Raises ValueError."""
    split = [line.partition(separator) for line in lines if line.strip()]
    for name, found, _value in split:
        if not found:
            raise Problem("{line!r} has no {separator!r}: write NAME{separator} VALUE", line=name[:60], separator=separator)
    return {name.strip(): value.strip() for name, _, value in split}


def request_of(said: Description, find_users: bool = True) -> HttpRequest:
    """The request. Raises ValueError. Without `find_users` it is for people who may not see users: only keys name one."""
    method, address = said.method.strip().upper() or "GET", said.address.strip()
    if not re.fullmatch(r"[A-Z-]{1,20}", method):
        raise Problem("{method!r} is not an HTTP method: write for example POST", method=method)
    if address and parse_address(address) is None:
        raise Problem("{text!r} is not an address: write for example 203.0.113.9 or 2001:db8::1", text=address[:100])
    headers = {name: value.encode().decode("latin-1") for name, value in said.headers.items()}  # as a server decodes them
    sent = {name.lower(): value for name, value in headers.items()}.get("content-type", "")
    as_json = sent.partition(";")[0].endswith("json")
    body = json.dumps(dict(said.fields)) if as_json else urlencode(said.fields)
    known: dict[str, Any] = {"REMOTE_ADDR": address, SUPPOSED: True}
    request = RequestFactory().generic(method, _url(said.path.strip()), body, sent or FORM, headers=headers, **known)
    request.user = _user(said.user.strip(), find_users)
    if apps.is_installed("django.contrib.sessions"):  # that of the cookie that was typed; none is made
        session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return request


def _url(text: str) -> str:
    """With a host, since a path may begin with two slashes; and without the prefix at which the site is mounted."""
    scheme, separator, rest = text.partition("://")
    path = "/" + rest.partition("/")[2] if separator and scheme.isalpha() else text
    if not path.startswith("/"):
        raise Problem("{text!r} is not a path: begin with /, as in /login/", text=text[:100])
    mounted = get_script_prefix().rstrip("/")
    return f"http://supposed{path.removeprefix(mounted) if path.startswith(f'{mounted}/') else path}"


def _user(text: str, find_users: bool) -> Any:
    if not text:
        return users.anonymous()
    key = text if text.isdecimal() else as_subject(text, find_users).removeprefix("user:")
    users.check_user(key)
    if not find_users and (model := users.model()) is not None:
        return model(pk=users.canonical(key))  # whether there is one is not said
    user = users.found(key)
    if user is None:
        raise Problem("there is no user {text!r}: write a login name, or user:42", text=text[:100])
    return user


@dataclass(frozen=True)
class Stage:
    """One door: the rules that match there, those among them that are asked about, and what they decide."""

    rules: Sequence[Rule]  # as rows and code have them
    asked: Sequence[Rule]  # without those that the client is exempt from; none if it is blocked
    decision: Decision
    alone: Sequence[RuleDecision]  # each rule's as if it were in shadow: with its numbers whoever refuses
    asks_view: bool  # the view decides what a refusal means
    stays_open: bool  # so that staff can correct rules

    @property
    def refuses(self) -> bool:
        return not (self.decision.allowed or self.asks_view or self.stays_open)


def walk(request: HttpRequest, book: current.Rulebook, doors: Sequence[Door]) -> Iterator[Stage]:
    """The doors where there is something to decide, in the order of the request. Also the doors behind one that refuses; what
    was decided there is then not added to the visit."""
    for door in doors:
        passage = Passage(request, door)
        if door.awaited is not None:
            passage.door = async_to_sync(door.awaited)(book, passage.seen)
        if passage.prepare(book):
            async_to_sync(passage.load)()
            stage = _stage(passage)
            if not stage.refuses:
                passage.visit.add(stage.decision)
            yield stage


def _stage(passage: Passage) -> Stage:
    """What a guard would decide at this door."""
    question = passage.question()
    decision = decide.decide(question, "peek")
    alone = decision.parts
    if not decision.allowed:  # the limiter gives no numbers of rules in shadow then, and a block refuses without any
        checks = [check._replace(enforce=False) for check in question.checks]
        alone = decide.decide(question._replace(checks=checks, settled=[]), "peek").parts if checks else ()
    stays_open = not decision.allowed and bool(open_to_staff.rules_instead(passage.request, passage.rules, decision))
    return Stage(passage.rules, question.rules, decision, alone, not passage.door.block, stays_open)


NO_MIDDLEWARE = _("RateWindowMiddleware is not in MIDDLEWARE, so no rule applies by path")
PLACES = {
    "named": _("it applies only where code names it"),
    "path": _("the path is not %(pattern)s"),
    "prefix": _("the path is not below %(pattern)s"),
    "regex": _("the path does not match %(pattern)s"),
    "route": _("the route is not %(pattern)s"),
}


@dataclass(frozen=True)
class Line:
    """One rule. `decision` is its own, with its windows as they stand whoever refuses; None where it is not asked."""

    rule: Rule
    effect: str  # refuses, would refuse, passes, exempt, blocked, not counted or no match
    decision: RuleDecision | None = None
    in_code: bool = False  # the rate is given by code
    asks_view: bool = False
    identity: str = ""
    reason: object = ""  # why it does not match, in words


@dataclass(frozen=True)
class Explanation:
    """What the limits make of a request at one moment."""

    said: Description
    request: HttpRequest
    route: str  # the pattern of the URLconf; empty: the path leads to no page
    at: datetime
    enabled: bool  # by the setting
    switch: kill_switch.Switch | None  # that has switched limits off
    overrides: Sequence[tuple[Ruling, Override | None]]
    stages: Sequence[Stage]
    lines: Sequence[Line]
    with_overrides: bool  # False: by the rules alone, for people who may not be told of blocks and exemptions

    @property
    def is_off(self) -> bool:
        return not self.enabled or self.switch is not None

    @property
    def refused(self) -> Decision | None:
        """The decision that refuses the request."""
        return None if self.is_off else next((stage.decision for stage in self.stages if stage.refuses), None)


@site_functions.unreported()
def explain(said: Description, find_users: bool = True, with_overrides: bool = True) -> Explanation:
    """Explain what would be answered now, or without overrides what the rules alone would answer.

    It counts nothing and changes no state. Raises ValueError for what is not a request, or where the site's own code fails.
    """
    request = request_of(said, find_users)
    current.rulebook()  # waits for the first reading
    held = current.held()  # also while limits are switched off
    book = held if with_overrides else held.with_overrides(None)
    with site_functions.explained(request):
        doors = [*doors_of(request), *(door for doors_in in rooms.plugged("doors") for door in doors_in(request))]
        stages = [*walk(request, book, doors)]
    rulings = book.overrides.of_request(request) if book.overrides is not None else []
    rows = Override.objects.in_bulk([ruling.pk for ruling in rulings]) if rulings else {}
    lines = [_line(stage, rule, book) for stage in stages for rule in stage.rules]
    match = match_of(request)
    return Explanation(
        said=said,
        request=request,
        route=f"/{match.route.removeprefix('^')}" if match is not None else "",
        at=time_zone.now(),
        enabled=conf.current().enabled,
        switch=kill_switch.turned if kill_switch.off else None,
        overrides=[(ruling, rows.get(ruling.pk)) for ruling in rulings],  # a row may have been deleted a moment ago
        stages=stages,
        lines=[*lines, *_not_matching(book, {line.rule.name for line in lines}, request, doors)],
        with_overrides=with_overrides,
    )


def _line(stage: Stage, rule: Rule, book: current.Rulebook) -> Line:
    decision, row = _own(stage, rule), book.by_name.get(rule.name)
    return Line(
        rule,
        _effect(stage, rule, decision),
        decision,
        in_code=row is None or (rule is not row and not rule.is_beside and rule.applies_to == "named"),
        asks_view=stage.asks_view,
        identity=decision.check.identity if decision is not None and decision.check is not None else "",
    )


def _own(stage: Stage, rule: Rule) -> RuleDecision | None:
    """The rule's own decision: as the request got it or, if that has no numbers since another rule refuses, alone."""
    judged = next((part for part in stage.decision.parts if _is_by(part, rule)), None)
    if judged is None or (judged.outcome == "other" and judged.mode == "shadow"):
        return next((part for part in stage.alone if _is_by(part, rule)), judged)
    return None if judged.reason == "block" else judged


def _is_by(part: RuleDecision, rule: Rule) -> bool:
    return part.made_by is not None and (part.rule, part.made_by.is_beside) == (rule.name, rule.is_beside)


def _effect(stage: Stage, rule: Rule, decision: RuleDecision | None) -> str:
    if any(part.reason == "block" for part in stage.decision.parts):
        return "blocked"
    if all((each.name, each.is_beside) != (rule.name, rule.is_beside) for each in stage.asked):
        return "exempt"
    if decision is None:
        return "not counted"
    if not decision.allowed:
        return "refuses"
    return "would refuse" if decision.outcome == "would_refuse" and not rule.soft else "passes"


def _not_matching(book: current.Rulebook, matching: set[str], request: HttpRequest, doors: Sequence[Door]) -> Iterator[Line]:
    """The rules of the database that do not match, each with the reason: by the matching of requests, asked without methods."""
    others = [rule for rule in book.by_name.values() if rule.name not in matching]
    by_path = Index([replace(rule, methods=frozenset()) for rule in others if rule.methods]).match(request)
    but_for_method = {rule.name for rule in by_path} | {door.name for door in doors if isinstance(door, ViewDoor)}
    has_middleware = any(isinstance(door, PathDoor) for door in doors)
    places = PLACES if has_middleware else {"named": PLACES["named"]}
    places = places | {name: target.elsewhere for name, target in rooms.targets().items()}
    for rule in others:
        reason = places.get(rule.applies_to, NO_MIDDLEWARE)
        if rule.mode == "off":
            reason = _("it is off")
        elif not rule.windows:
            reason = _("it has no limits")
        elif rule.name in but_for_method:
            reason = _("the method is not %(methods)s")
        words = str(reason) % {"pattern": rule.pattern, "methods": one_of(sorted(rule.methods) or [""])}
        yield Line(rule, "no match", reason=words)
