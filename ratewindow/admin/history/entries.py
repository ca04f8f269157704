"""Edits as the pages of the history show them: who, when, why, and each field before and after."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.addresses import reverse
from ratewindow.admin.history import changes_in_words
from ratewindow.admin.history.changes_in_words import Line, clock
from ratewindow.admin.masking import whom
from ratewindow.admin.wording import ago
from ratewindow.conf.in_words import listed
from ratewindow.models import Edit
from ratewindow.operations.documents.differences import Change

_NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """One edit, as text. `clock` is its time in full, `ago` how long that is ago."""

    clock: str
    ago: str
    title: str
    action: str
    action_label: str
    who: str
    way: str
    why: str
    lines: tuple[Line, ...]
    url: str
    restores: bool


def entry(edit: Edit, request: HttpRequest) -> Entry:
    return Entry(
        clock=clock(edit.at),
        ago=ago(edit.at),
        title=title(edit, request),
        action=edit.action,
        action_label=gettext("Ended") if _ends(edit) else str(Edit.Action(edit.action).label),
        who=edit.by,
        way=way_in_words(edit.way),
        why=edit.reason,
        lines=tuple(_lines(edit, request)),
        url=reverse("admin:ratewindow_edit_change", args=[edit.pk]),
        restores=edit.kind not in Edit.EVENTS,
    )


def entries(edits: Iterable[Edit], request: HttpRequest) -> list[Entry]:
    return [entry(edit, request) for edit in edits]


def title(edit: Edit, request: HttpRequest) -> str:
    """``Rule login``, ``Block: ip:203.0.113.9``; an identity as the user of this request may see it."""
    if edit.kind == Edit.Kind.RELEASE:
        return gettext("Client %s") % whom(request, edit.subject)
    if edit.kind == Edit.Kind.RECORDING:
        return gettext("Recording of %s") % edit.subject
    return changes_in_words.title(request, _change(edit))


def way_in_words(way: str) -> str:
    """``in the admin``, ``by the command block``."""
    kind, _, name = way.partition(" ")
    return str(_WAYS[kind]).format(name=name) if kind in _WAYS else way


_WAYS = {
    "admin": _("in the admin"),
    "code": _("by code"),
    "define": _("by code that defines rules"),
    "command": _("by the command {name}"),
    "task": _("by a task"),
    "migration": _("by a migration"),
    "import": _("by an import"),
    "restore": _("restored from the history"),
    "found": _("without a trace, found at the next edit"),
}


def _ends(edit: Edit) -> bool:
    """Whether a block was in force or to come before the edit, and has ended by it."""
    if edit.kind != Edit.Kind.OVERRIDE or edit.before is None or edit.after is None:
        return False
    was, now = (parse_datetime(values.get("expires_at", "")) for values in (edit.before, edit.after))
    return now is not None and now <= edit.at and (was is None or was > edit.at)


def _change(edit: Edit) -> Change:
    return Change(edit.kind, edit.before, edit.after)


def _lines(edit: Edit, request: HttpRequest) -> Iterable[Line]:
    match edit.kind:
        case Edit.Kind.RELEASE:
            return _of_release(edit)
        case Edit.Kind.RECORDING:
            return _of_recording(edit)
        case _:
            return changes_in_words.lines(request, _change(edit))


def _of_recording(edit: Edit) -> Iterator[Line]:
    was, now = edit.before or {}, edit.after or {}
    if edit.before is None:
        yield Line(gettext("Limit"), _NOTHING, now.get("limit", ""))
    yield Line(gettext("Ends"), _moment(was.get("until", "")), _moment(now.get("until", "")))


def _moment(text: str) -> str:
    moment = parse_datetime(text)
    return clock(moment) if moment is not None else _NOTHING


def _of_release(edit: Edit) -> Iterator[Line]:
    done = edit.after or {}
    yield Line(gettext("Rule"), _NOTHING, done.get("rule") or gettext("all rules"))
    yield Line(gettext("Counts deleted"), _NOTHING, listed(done.get("counts", ())) or gettext("none"))
    yield Line(gettext("Blocks ended"), _NOTHING, str(done.get("blocks", 0)))
    if done.get("failure"):
        yield Line(gettext("Not done, since"), _NOTHING, done["failure"])
