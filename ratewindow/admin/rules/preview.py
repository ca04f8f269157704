"""What a rule amounts to before it is saved: its sentence, the routes that it meets, its last hour, and what is doubtful."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied
from django.forms import ModelForm, Script
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from ratewindow import conf
from ratewindow.admin.addresses import reverse
from ratewindow.admin.banner import glance
from ratewindow.admin.confirm_page import changes_nothing
from ratewindow.admin.recorded import RecordedAdmin
from ratewindow.admin.rules import coverage_page
from ratewindow.admin.rules.form import PREVIEW_BUTTON
from ratewindow.admin.wording import sentence
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import listed
from ratewindow.conf.translation import translated
from ratewindow.identity.privacy import kept_as_sent
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule, RuleWindow
from ratewindow.operations import lockout
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import Report, report
from ratewindow.rulebook import reading, rule_rows
from ratewindow.rules.coverage import Covered, coverage
from ratewindow.rules.doubts import doubts
from ratewindow.rules.rule import Rule, check_name

TEMPLATE = "admin/ratewindow/raterule/preview.html"
MOST_ROUTES = 10
_UNSAVED = "unsaved"  # the name of a rule that has none yet
_UNSAID = {"name", "description", "mode", "why"}  # what is wrong with these does not change what a rule amounts to


class PreviewedAdmin(RecordedAdmin):
    """The admin of rules with previews: of its forms, and for scripts of what is typed into them."""

    class Media:
        css = {"all": ["ratewindow/preview.css"]}
        js = [Script("ratewindow/preview.js", defer=True)]

    def get_urls(self) -> list[URLPattern]:
        view, name = changes_nothing(self.admin_site.admin_view(require_POST(partial(page, self)))), "ratewindow_raterule_preview"
        coverage = self.admin_site.admin_view(partial(coverage_page.page, self))
        pages = [path("coverage/", coverage, name="ratewindow_coverage")]
        return [
            *pages,
            path("preview/", view, name=name),
            path("<path:object_id>/preview/", view, name=name),
            *super().get_urls(),
        ]

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: RateRule | None = None,
    ) -> HttpResponse:
        may_save = self.has_change_permission(request, obj) if change else self.has_add_permission(request)
        if may_save:
            form, limits = context["adminform"].form, [each.formset for each in context["inline_admin_formsets"]]
            url = reverse("admin:ratewindow_raterule_preview", args=[quote(obj.pk)] if change and obj is not None else [])
            context = {**context, "preview_url": url, "preview_button": PREVIEW_BUTTON, "preview": of_form(request, form, limits)}
        return super().render_change_form(request, context, add, change, form_url, obj)


@dataclass(frozen=True)
class Some:
    """A few of many, and how many more there are."""

    shown: Sequence[str] = ()
    more: int = 0


@dataclass(frozen=True)
class Preview:
    """What a form amounts to; or what is `missing` before that can be said, as (label, message), and the saved rule's
    sentence."""

    missing: Sequence[tuple[str, str]] = ()
    sentence: str = ""
    is_named: bool = False  # only where code names it
    count: int = 0  # of the routes that it meets, out of `total`
    total: int = 0
    meets: Some = field(default_factory=Some)
    may_count: int = 0
    may_meet: Some = field(default_factory=Some)
    never: Some = field(default_factory=Some)  # first parts of paths
    last_hour: str = ""
    warnings: Sequence[str] = ()
    kept: str = ""  # of what clients send


def page(model_admin: Any, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
    """The preview of the form that the browser sends, as a part of a page. It saves nothing."""
    stored = None if object_id is None else model_admin.get_object(request, unquote(object_id))
    if object_id is not None and stored is None:
        raise Http404(object_id)
    if not (model_admin.has_add_permission(request) if stored is None else model_admin.has_change_permission(request, stored)):
        raise PermissionDenied
    form = model_admin.get_form(request, stored, change=stored is not None)(request.POST, instance=stored)
    formsets, _ = model_admin._create_formsets(request, form.instance, change=stored is not None)
    return render(request, TEMPLATE, {"preview": of_form(request, form, formsets)})


def of_form(request: HttpRequest, form: "ModelForm[RateRule]", formsets: Sequence[Any]) -> Preview | None:
    """The preview of a form; of one that is not filled in yet that of the saved rule, if there is one."""
    row = form.instance
    if not form.is_bound:
        return of_row(request, row) if row.pk else None
    limits = [limit for formset in formsets if formset.model is RuleWindow for limit in _kept(formset)]
    if missing := [*_missing(form), *_missing_limits(limits, formsets)]:
        return Preview(missing=missing, sentence=sentence(RateRule.objects.get(pk=row.pk)) if row.pk else "")
    return of_row(request, row, [each.instance.freeze() for each in limits if each.instance.period])


def of_row(request: HttpRequest, row: RateRule, windows: Sequence[Window] | None = None) -> Preview:
    """The preview of a row with these windows, or with those saved."""
    said = sentence(row, windows)
    try:
        rule = _frozen(row, windows)
    except ValueError as error:  # written by raw SQL
        return Preview(sentence=said, warnings=[gettext("%s.") % translated(error)])
    covered = coverage([rule])
    counted = _last_hour(request, row.name) if row.pk else None
    is_met = rule.name == _UNSAVED or (counted is not None and row.name in counted.rules)  # by a call that nothing registers
    found = [doubt for _, doubt in doubts([rule], covered) if doubt.kind != "unnamed" or not is_met]
    warnings = [f"{doubt.text} {doubt.remedy}" for doubt in found]
    if row.pk and (problem := reading.problem_of(row.name)):
        warnings.append(gettext("As it is saved, this rule %s.") % problem)
    met = [each for each in covered if each.meets]
    may = sorted((each for each in covered if each.may_meet), key=lambda each: not each.likely)
    return Preview(
        sentence=said,
        is_named=rule.applies_to == "named",
        count=len(met),
        total=len(covered),
        meets=_some(each.route.label for each in met),
        may_count=len(may),
        may_meet=_some(each.route.label for each in may),
        never=_some(_never(covered)) if rule.applies_to != "named" else Some(),
        last_hour=lockout.last_hour(row.name, counted) if counted is not None else "",
        warnings=warnings,
        kept=_what_is_kept(rule.key),
    )


def _what_is_kept(key: str) -> str:
    if not (parts := kept_as_sent(key)):
        return ""
    text = gettext(
        "Statistics keep %s of the clients most refused as it was sent, also where it is a secret. With ANONYMIZE = “all” they "
        "keep hashes."
    )
    return text % listed(parts)


def _frozen(row: RateRule, windows: Sequence[Window] | None) -> Rule:
    row = copy(row)
    try:
        check_name(row.name)
    except ValueError:  # or none yet; nothing else depends on it
        row.name = _UNSAVED
    return rule_rows.freeze(row, None if windows is None else tuple(windows))


def _never(covered: Sequence[Covered]) -> list[str]:
    """The first parts of paths below which no route is met, those of most routes first."""
    counts: dict[str, int] = {}
    for each in covered:
        counts[each.route.section] = counts.get(each.route.section, 0) + 1
    met = {each.route.section for each in covered if each.meets or each.may_meet}
    return sorted(counts.keys() - met, key=lambda section: (section == "/", -counts[section], section))


def _some(every: Iterable[str]) -> Some:
    listed = list(dict.fromkeys(every))
    return Some(listed[:MOST_ROUTES], max(0, len(listed) - MOST_ROUTES))


def _missing(form: "ModelForm[RateRule]") -> Iterator[tuple[str, str]]:
    for name, errors in form.errors.items():
        if name not in _UNSAID:
            label = "" if name == NON_FIELD_ERRORS else str(form[name].label or name)
            yield label, " ".join(map(str, errors))


def _kept(formset: Any) -> list[Any]:
    """The forms of a formset that are not ticked for deletion."""
    formset.is_valid()  # cleans them
    return [form for form in formset.forms if not (formset.can_delete and formset._should_delete_form(form))]


def _missing_limits(limits: Iterable[Any], formsets: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for form in limits:
        for name, errors in form.errors.items():
            yield "" if name == NON_FIELD_ERRORS else str(form[name].label or name), " ".join(map(str, errors))
    for formset in formsets:
        for error in formset.non_form_errors():
            yield "", str(error)


def _last_hour(request: HttpRequest, name: str) -> Report:
    period = last("1h", time_zone.now(), conf.current().retention)
    return report(period, name, ask_redis=glance(request).reachable)
