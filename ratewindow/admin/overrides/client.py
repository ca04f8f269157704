"""One client: links to what can be done about it, and the page that shows how it stands and releases it."""

import math
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow import rooms, staff
from ratewindow.admin.base import render_page, reverse
from ratewindow.admin.overrides.form import REQUIRED
from ratewindow.admin.wording import MODES
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import translated
from ratewindow.identity.address import is_internal
from ratewindow.limiter.durations import format_duration
from ratewindow.models import Override, RateRule
from ratewindow.operations.clients import free, rulings_of, standing, used, values_of
from ratewindow.operations.forms import PlainReleaseForm, typed_client
from ratewindow.operations.rights import may, may_look_up, require
from ratewindow.overrides.lookup import BLOCK
from ratewindow.overrides.subjects import EXAMPLES, in_words, is_target, parse_subject
from ratewindow.rooms import Link
from ratewindow.rulebook import current
from ratewindow.rules import code_rates

LIST, ADD = "admin:ratewindow_override_changelist", "admin:ratewindow_override_add"
RELEASE = "admin:ratewindow_override_release"


def url(request: HttpRequest, page: str, **given: str) -> str:
    """The list, the form or the release page with these values; the form takes `identity`, `rule`, `action` and `lasts`."""
    return f"{reverse(page, request=request)}?{urlencode({name: value for name, value in given.items() if value})}"


def of_client(request: HttpRequest, identity: str, rule: str = "") -> list[Link]:
    """What helps a client comes first. Of the rule that refuses it, if one is named, its limits can be raised for this client.

    Who is blocked can only be released, and so can a login name that is tried: blocked, it would lock its owner out; exempt,
    anybody could guess on.
    """
    links = [link for links_of in rooms.plugged("client_links") for link in links_of(request, identity)]
    try:
        subject = parse_subject(identity)
    except ValueError:  # all visitors together
        return links
    is_known = subject.one_client and not subject.hashed  # counts and blocks cannot be found by a hash
    rulings = rulings_of(current.rulebook(), values_of(identity)) if is_known and may_look_up(request.user) else ()
    blocks = [each for each in rulings if each.action == BLOCK]
    is_blocked = any(each.rule in ("", rule) for each in blocks)
    given = {"identity": identity, "rule": rule, "lasts": "1h"}
    may_add = request.user.has_perm("ratewindow.add_override") and not (is_target(identity) or is_blocked)
    if may_add:
        links.append(Link(url(request, ADD, **given, action="allow"), gettext("Exempt…")))
    if may_add and (rate := scaled(rule, 2)):
        links.append(
            Link(url(request, ADD, **given, action="rate", rate=rate), gettext("Raise for this client…"), short=gettext("Raise…"))
        )
    if may(request.user, "release_identity") and is_known:
        links.append(Link(url(request, RELEASE, identity=identity, rule=rule), gettext("Release…")))
    if ends_s := [each.expires_s for each in blocks if not rule or each.rule in ("", rule)]:
        links.append(Link(url(request, LIST, q=identity), _until(max(ends_s))))
    if may_add and not subject.meets_everybody and not is_internal(identity):
        links.append(Link(url(request, ADD, **given, action="block"), gettext("Block…"), harms=True))
    return links


def _until(end_s: float) -> str:
    """``Blocked until 10:06``."""
    if end_s == math.inf:
        return gettext("Blocked")
    return gettext("Blocked until %s") % time_zone.in_short(datetime.fromtimestamp(end_s, UTC))


def scaled(rule: str, by: float) -> str:
    """So many times what a rule allows, ``10/1m; 40/1h`` for twice ``5/1m; 20/1h``; empty if that is the same, or not known."""
    known = current.rulebook().by_name.get(rule) or code_rates.rule(rule)
    limits = [(window.limit, max(1, int(window.limit * by)), window.period_ms) for window in (known.windows if known else ())]
    if all(before == after or not before for before, after, _ in limits):
        return ""
    return "; ".join(f"{after}/{format_duration(period_ms)}" for _, after, period_ms in limits)


_TEXT = {"class": "vTextField", "autocomplete": "off"}


class ReleaseForm(PlainReleaseForm):
    required_css_class = "required"

    identity = forms.CharField(
        label=_("Who"),
        max_length=255,
        widget=forms.TextInput(attrs=_TEXT),
        help_text=format_lazy(
            _("Such as {examples}. Join the identities of a key of several parts with +."), examples=_(EXAMPLES)
        ),
        error_messages={"required": REQUIRED},
    )
    rule = forms.CharField(
        label=_("Rule"),
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={**_TEXT, "list": "rw-rules"}),
        help_text=_("The name of one rule. Leave empty for all rules."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=200,
        widget=forms.TextInput(attrs=_TEXT),
        help_text=_("Shown in the history."),
        error_messages={"required": _("Enter a reason for the history.")},
    )

    def __init__(self, request: HttpRequest) -> None:
        given = {name: request.GET[name] for name in ("identity", "rule") if name in request.GET}
        super().__init__(request.POST if request.method == "POST" else None, initial=given)
        self.by = request.user


def release_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """The form. There is no undo: the client is counted again, and can be blocked again."""
    require(may(request.user, "release_identity"))
    form = ReleaseForm(request)
    if form.is_valid() and _release(request, form):
        return HttpResponseRedirect(request.path)
    return render_page(
        model_admin,
        request,
        "admin/ratewindow/override/release.html",
        gettext("See and release a client"),
        {
            "form": form,
            "standing": _standing(request) if request.GET.get("identity", "").strip() else {},
            "rules": RateRule.objects.exclude(mode="off").values_list("name", flat=True),
            "may_list": model_admin.has_view_permission(request),
        },
    )


def _standing(request: HttpRequest) -> dict[str, Any]:
    """What ``override/standing.html`` shows of the client in the page's address."""
    try:
        identity = typed_client(request.user, request.GET["identity"])
        now = standing(identity, request.GET.get("rule", ""), with_overrides=may_look_up(request.user))
    except forms.ValidationError as error:
        return {"problem": " ".join(error.messages)}
    except ValueError as error:
        return {"problem": f"{translated(error)}."}
    return {
        "who": in_words(identity),
        "overrides": [(each, in_words(each.identity), each.until()) for each in now.overrides],
        "hides_overrides": not may_look_up(request.user),
        "rules": [(each, MODES[each.mode], used(each), free(each)) for each in now.rules],
        "note": now.note,
        "links": [link for link in of_client(request, identity) if not link.url.startswith(request.path)],
    }


def _release(request: HttpRequest, form: ReleaseForm) -> bool:
    """Release the client of a valid form; False, with the error in the form, if that is not possible."""
    try:
        released = staff.release(form.cleaned_data["identity"], form.cleaned_data["rule"], by=request.user)
    except forms.ValidationError as error:
        form.add_error(None, error)
        return False
    (messages.warning if released.failure else messages.success)(request, released.in_words())
    LogEntry.objects.create(
        user_id=str(request.user.pk),
        content_type=ContentType.objects.get_for_model(Override),
        object_repr="client",
        action_flag=CHANGE,
        change_message="Released.",  # the history has whom and why: this log has readers who may not know
    )
    return True
