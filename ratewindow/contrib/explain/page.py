"""The page Explain: a form, and what it finds. It changes nothing, so its address shows the same to a colleague."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy as _
from redis.exceptions import RedisError

from ratewindow import rooms
from ratewindow.admin.base import render_page, reverse
from ratewindow.admin.overrides import client
from ratewindow.admin.rules.form import USUAL_METHODS
from ratewindow.admin.rules.proposals import for_requests_like
from ratewindow.admin.wording import MODES
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import as_sentence
from ratewindow.contrib.explain import codes, words
from ratewindow.contrib.explain.explanation import Description, Explanation, Line, explain, pairs
from ratewindow.identity import split
from ratewindow.identity.privacy import anonymous
from ratewindow.identity.typed_values import kind_and_name
from ratewindow.models import RateRule
from ratewindow.operations.rights import display, may_look_up, may_see, may_view_overrides, may_view_users, require
from ratewindow.overrides.subjects import EVERYBODY_TOGETHER, masked, parse_subject, texts_of
from ratewindow.rulebook import current


def _text(label: Any, size: int, example: Any, **more: Any) -> forms.CharField:
    attributes = {"autocomplete": "off", "spellcheck": "false", "size": size, "placeholder": example}
    return forms.CharField(label=label, required=False, max_length=2000, widget=forms.TextInput(attrs=attributes), **more)


def _lines(label: Any, help_text: Any) -> forms.CharField:
    return forms.CharField(label=label, required=False, help_text=help_text, widget=forms.Textarea(attrs={"rows": 2}))


class ExplainForm(forms.Form):
    """A code, or a request. `found` is what the page shows of either."""

    code = _text(_("Code"), 8, "k7f2q", help_text=_("A refused visitor reads it in the answer. It is known for an hour."))
    method = forms.ChoiceField(label=_("Method"), required=False, choices=[(each, each) for each in USUAL_METHODS])
    path = _text(_("Path"), 22, "/login/")
    address = _text(_("Address"), 14, "203.0.113.9")
    user = _text(_("User"), 12, _("nobody"))
    headers = _lines(_("Headers"), _("One in each line, such as X-Api-Key: VALUE."))
    fields_ = _lines(_("Fields of the form"), _("One in each line, such as username=ann."))

    def __init__(self, request: HttpRequest) -> None:
        given = request.POST if request.method == "POST" else request.GET
        is_asked = given.keys() & {"code", "path"}  # else a link fills a part
        super().__init__(given if is_asked else None, auto_id="rw-explain-%s", label_suffix="", initial=given.dict())
        self.by_code = "code" in given or not given.keys() & {"path", "by"}
        self.has_more = any(given.get(name) for name in ("headers", "fields_"))  # they may be secrets, which no address may hold
        self._request = request
        self.found: Mapping[str, Any] = {}

    def clean(self) -> dict[str, Any]:
        may_tell = may_view_overrides(self._request.user)
        try:
            if self.by_code:
                self.found = _refusal_context(self._request, codes.find(self.cleaned_data.get("code", ""), may_tell))
            elif not self.errors:
                self.found = _request_context(self._request, self._explanation(self.cleaned_data))
        except ValueError as error:
            self.add_error("code" if self.by_code else None, as_sentence(error))
            if self.by_code and not may_tell:
                self.add_error("code", gettext("You are not shown the code of a block: that takes the permission view_override."))
        return self.cleaned_data

    def _explanation(self, typed: Mapping[str, str]) -> Explanation:
        headers, fields = pairs(typed["headers"].splitlines(), ":"), pairs(typed["fields_"].splitlines(), "=")
        said = Description(typed["method"] or "GET", typed["path"], typed["address"], typed["user"], headers, fields)
        return explain(said, find_users=may_view_users(self._request.user), with_overrides=may_look_up(self._request.user))


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    require(model_admin.has_view_or_change_permission(request))
    form = ExplainForm(request)
    if form.is_valid() and request.method == "POST" and not form.has_more:
        query = urlencode({name: form.data[name] for name in form.fields if form.data.get(name)})
        return HttpResponseRedirect(f"{request.path}?{query}")
    with suppress(RedisError, OSError):  # who sees masks could try clients until one is refused
        last = request.GET.get("last", "") if may_see(request.user) else ""
        if last and (newest := codes.newest_of(last, with_overrides=may_view_overrides(request.user))):
            return HttpResponseRedirect(f"{request.path}?code={newest.code}")
    return render_page(
        model_admin, request, "admin/ratewindow/explain/page.html", gettext("Explain"), {"form": form, **form.found}
    )


def _refusal_context(request: HttpRequest, refused: codes.Refused) -> Mapping[str, Any]:
    """What a code is about, with links to what would be answered now, and to what can be done."""
    method, path = codes.method_and_path(refused.route)
    return {
        "then": {
            "code": refused.code,
            "at": time_zone.local(datetime.fromtimestamp(refused.at_s, UTC)),
            "route": refused.route,
            "by": [
                {
                    "said": words.refused_by(by.rule, by.reason),
                    "window": by.window,
                    "who": display(request.user, by.identity),
                    "now": [*link_of_client(request, by.identity, method=method, path=path, fields_=_typed(by.rule))],
                    "actions": [*_actions(request, by.identity, by.rule)],
                }
                for by in refused.by
            ],
        }
    }


def _typed(rule: str) -> str:
    """The fields without which no request is one that the rule is about: a login tries a name."""
    known = current.rulebook().by_name.get(rule)
    target = rooms.targets().get(known.applies_to) if known is not None else None
    return target.typed if target is not None else ""


def _request_context(request: HttpRequest, found: Explanation) -> Mapping[str, Any]:
    """What is answered now, and what can be done about it."""
    keys = dict(RateRule.objects.values_list("name", "pk"))
    refusing = next((line for line in found.lines if line.effect == "refuses"), None)
    address = f"ip:{found.said.address}" if found.said.address else ""
    who, rule = (refusing.identity or address, refusing.rule.name) if refusing is not None else (address, "")
    return {
        "found": found,
        "answer": words.answer(found),
        "in_shadow": words.in_shadow(found),
        "before_rules": [*words.before_rules(found)],
        "rules": [_row(request, line, keys) for line in found.lines],
        # The hash of whoever was typed could be found elsewhere by who sees masks.
        "actions": [
            *(_actions(request, who, rule) if found.refused is not None and may_see(request.user) else ()),
            *for_requests_like(request, found.request, (line.rule for line in found.lines if line.effect != "no match")),
        ],
        "at": time_zone.local(found.at),
    }


def _actions(request: HttpRequest, identity: str, rule: str) -> Iterator[rooms.Link]:
    """What can be done about a client and the rule that refuses it. For who sees masks the client is its hash, which overrides
    may name, and which leads to nobody."""
    if identity != EVERYBODY_TOGETHER:
        who = identity if may_see(request.user) else next(texts_of(identity, lambda part: (anonymous(part),)))
        yield from (link for link in client.of_client(request, who, rule) if not link.url.startswith(request.path))
    for row in RateRule.objects.filter(name=rule):
        yield rooms.Link(reverse("admin:ratewindow_raterule_look", [row.pk], request), gettext("Open rule"))


def _row(request: HttpRequest, line: Line, keys: Mapping[str, int]) -> Mapping[str, Any]:
    mode = "code" if line.in_code else line.rule.mode
    pk = None if line.in_code else keys.get(line.rule.name)
    return {
        "name": line.rule.name,
        "url": reverse("admin:ratewindow_raterule_look", [pk], request) if pk is not None else "",
        "mode": mode,
        "mode_label": MODES[mode],
        "effect": line.effect,
        "effect_label": words.EFFECTS[line.effect],
        "why": words.why(line),
        # The mask of what was typed could be found in lists.
        "who": display(request.user, line.identity) if may_see(request.user) else "",
        "uses": words.uses(line),
        "frees": words.frees(line),
    }


def link_to_page(**given: str) -> Iterator[rooms.Link]:
    """To the page with these values: `method`, `path`, `address`, `user`, `fields_`, and `last`, a client whose newest refusal is
    shown if it is known."""
    query = urlencode({name: value for name, value in given.items() if value})
    yield rooms.Link(reverse("admin:ratewindow_explain") + (f"?by=request&{query}" if query else ""), gettext("Explain"))


def rule_links(model_admin: Any, request: HttpRequest, rule: Any) -> Iterator[rooms.Link]:
    """For a request that the rule matches, where its path says that."""
    path = rule.pattern if rule.applies_to in ("path", "prefix") else ""
    return link_to_page(method=rule.methods.replace(",", " ").partition(" ")[0] if path else "", path=path)


def client_links(request: HttpRequest, identity: str) -> Iterator[rooms.Link]:
    """To the newest refusal of a client or, if none is known, to the form."""
    return link_of_client(request, identity, last=identity)


def link_of_client(request: HttpRequest, identity: str, **more: str) -> Iterator[rooms.Link]:
    """For a client whom the reader may see, unless the form cannot say who it is. Without a path the page asks for one."""
    if request.user.has_perm("ratewindow.view_raterule") and (may_see(request.user) or masked(identity) == identity):
        with suppress(ValueError):  # an invalid row, which raw SQL has written
            subject = parse_subject(identity)
            parts = [kind_and_name(part) for part in split(subject.text)]
            known = {kind: value for kind, _, value in parts}
            if known.keys() <= {"ip", "user", "post", "login"} and not subject.hashed:
                fields = [f"{name or 'username'}={value}" for kind, name, value in parts if kind in ("post", "login")]
                more |= {"fields_": "\n".join(fields)} if fields else {}
                user = f"user:{known['user']}" if "user" in known else ""
                yield from link_to_page(**more, address=known.get("ip", "").partition("/")[0], user=user)
