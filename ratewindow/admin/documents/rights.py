"""Who may export rules, and import which changes: the permissions that the forms would ask for, one by one."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin.concerns_many import concerns_many, counted_by
from ratewindow.admin.masking import may_look_up, may_see
from ratewindow.admin.rights import may_not
from ratewindow.admin.switch_page import may_switch
from ratewindow.identity import paths_in
from ratewindow.models import Mode
from ratewindow.operations.documents.differences import ADDED, OVERRIDE, REMOVED, RULE, Change
from ratewindow.operations.documents.site import Document
from ratewindow.operations.staff import may_view_overrides

OVERRIDES = "overrides"  # the section of a document
_VERBS = {ADDED: "add", "changed": "change", REMOVED: "delete"}


def may_export(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> bool:
    return model_admin.has_view_permission(request) and bool(request.user.has_perm("ratewindow.export_throttlestat"))


def may_import(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> bool:
    """Whether the page opens; each change asks for its own permissions."""
    return model_admin.has_add_permission(request) and model_admin.has_change_permission(request)


def readable(request: HttpRequest, document: Document) -> Document:
    """The document without blocks for a user who may not be told which of them the site has already."""
    return document if may_look_up(request) else {name: rows for name, rows in document.items() if name != OVERRIDES}


def forbidden(request: HttpRequest, document: Document, changes: Iterable[Change]) -> list[str]:
    """A sentence for each kind of change that this user may not make."""
    found = [*_unreadable(request)] if OVERRIDES in document else []
    counted = counted_by()
    return list(dict.fromkeys([*found, *(sentence for change in changes for sentence in _forbidden(request, change, counted))]))


def _unreadable(request: HttpRequest) -> Iterator[str]:
    if not may_view_overrides(request):
        yield gettext("You may not see blocks and exemptions: remove the section “overrides”.")
    if not may_see(request):
        yield gettext("You may not see identities unmasked: remove the section “overrides”.")


def _forbidden(request: HttpRequest, change: Change, counted: set[frozenset[str]]) -> Iterator[str]:
    user: Any = request.user
    if change.what not in (RULE, OVERRIDE):
        if not may_switch(request):
            yield gettext("You may not switch limits off and on: remove the section “switch”.")
        return
    verb, before, after = _VERBS[change.kind], change.before or {}, change.after or {}
    if not user.has_perm(f"ratewindow.{verb}_{'raterule' if change.what == RULE else 'override'}"):
        yield may_not(verb, change.what == RULE)
    if change.what == RULE:
        if _percent(after) > _percent(before) and not user.has_perm("ratewindow.enforce_raterule"):
            yield gettext("You may not enforce rules: write mode: shadow at %s.") % change.name
        yield from _code(request, after.get("key", ""), before.get("key"))
        return
    yield from _code(request, after.get("identity", ""), before.get("identity"))
    if not may_switch(request) and any(concerns_many(values.get("identity", ""), counted) for values in (before, after)):
        yield gettext(
            "A block or exemption may apply to all visitors, or nearly all, which takes the permission to switch all limits off."
        )


def _percent(rule: dict[str, Any]) -> int:
    """Of how many of a hundred clients requests are refused."""
    return rule.get("enforce_percent", 100) if rule.get("mode") == Mode.ENFORCE else 0


def _code(request: HttpRequest, text: str, before: str | None) -> Iterator[str]:
    if text != before and not (request.user.is_active and request.user.is_superuser) and (paths := paths_in(text)):
        sentence = gettext("%r is code, which only superusers may use as a key. A developer can register it with @ratekey.")
        yield sentence % paths[0]
