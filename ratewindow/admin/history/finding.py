"""What narrows the page of all edits: who and by which way, of those of late, and a search."""

from collections.abc import Sequence
from copy import copy
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.db.models import Field, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin import few_rows
from ratewindow.models import Edit

LATELY = 2000  # edits whose values can be chosen: those of a million would take a second to find


class LatelyListFilter(admin.AllValuesFieldListFilter):
    """The values of the newest edits, and the one that is chosen."""

    def __init__(
        self, field: "Field[Any, Any]", request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        newest = model_admin.get_queryset(request).order_by("-at", "-pk").values_list(field.name, flat=True)[:LATELY]
        self.lookup_choices: Any = sorted({*newest, *(self.lookup_val or ())})

    def choices(self, changelist: Any) -> Any:
        """The value of edits that nobody made, the empty one, has a name as well."""
        return [{**choice, "display": choice["display"] or gettext("nobody")} for choice in super().choices(changelist)]


class NewestFirst(few_rows.FewChangeList):
    """The list of edits, which is called the history."""

    def counting(self) -> "NewestFirst":
        """The same list where it says how many there are: ``12 edits``."""
        counting = copy(self)
        counting.opts = copy(self.opts)
        counting.opts.verbose_name_plural = gettext("edits")
        return counting

    def sorted_rows(self, rows: Sequence[Edit]) -> list[Edit]:
        return sorted(rows, key=attrgetter("at", "pk"), reverse=True)


def search(edits: "QuerySet[Edit]", term: str) -> "QuerySet[Edit]":
    """One word that is the name of a rule or of a person finds their edits by an index, any other words are looked for in
    names of rules, who and why. The subject of an override is its number, and is not found."""
    words = term.split()
    if len(words) == 1 and (found := edits.filter(_of_rules(subject=words[0]) | Q(by=words[0]))).exists():
        return found
    for word in words:
        edits = edits.filter(_of_rules(subject__icontains=word) | Q(by__icontains=word) | Q(reason__icontains=word))
    return edits


def _of_rules(**subject: str) -> Q:
    return Q(kind__in=(Edit.Kind.RULE, Edit.Kind.RECORDING), **subject)
