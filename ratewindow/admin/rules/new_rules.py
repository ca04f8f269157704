"""What a new rule may begin with: ready rules and rates in code, each a link to the form, filled in by its address."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext

from ratewindow.admin.base import render_page, reverse
from ratewindow.admin.rules.rollout import last_hour_of
from ratewindow.admin.wording import mode_in_words, sentence_in_code, short_sentence
from ratewindow.conf.in_words import listed
from ratewindow.limiter.durations import format_duration
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import MOST_WINDOWS, Window
from ratewindow.models import RateRule, RuleWindow
from ratewindow.models.fields import to_text
from ratewindow.operations.rights import require
from ratewindow.rules import code_rates, rate_options
from ratewindow.start import presets

_LIMIT_FIELDS = ("limit", "period", "algorithm", "buckets", "burst", "aligned_to")


def add_url(fields: Mapping[str, Any], windows: Iterable[Window]) -> str:
    """The address of the form of a new rule that begins with these."""
    values = {name: to_text(value) for name, value in fields.items() if value}
    return f"{reverse('admin:ratewindow_raterule_add')}?{urlencode({**values, **limit_values(windows)})}"


def limit_values(windows: Iterable[Window]) -> dict[str, str]:
    """The values of the form's rows of limits, by their names in the form."""
    rows = [{"limit": each.limit, "period": format_duration(each.period_ms), **rate_options.said(each)} for each in windows]
    values = ((f"windows-{number}-{name}", value) for number, row in enumerate(rows) for name, value in row.items())
    return {name: to_text(value) for name, value in values if value not in (None, "")}


def limits(request: HttpRequest) -> list[dict[str, str]]:
    """The limits in the address of a form that is opened; none once it is sent."""
    given = request.GET if request.method == "GET" else {}
    prefixes = [f"windows-{number}-" for number in range(MOST_WINDOWS)]
    rows = [{name: given[prefix + name] for name in _LIMIT_FIELDS if given.get(prefix + name)} for prefix in prefixes]
    return [row for row in rows if "limit" in row]


def fill_in(request: HttpRequest, formsets: Iterable[Any]) -> None:
    """Let the form of a saved rule begin with the numbers of the limits in its address."""
    chosen = {(each.get("period"), each.get("algorithm")): each["limit"] for each in limits(request)}
    for form in (form for formset in formsets for form in formset.initial_forms if isinstance(form.instance, RuleWindow)):
        row = form.instance
        if limit := chosen.get((to_text(row.period), row.algorithm)):
            form.initial["limit"] = limit


def ready() -> list[dict[str, Any]]:
    """Each kind with its rules; several that are new can be saved together."""
    return [
        {"kind": group.kind, "found": [*map(_line, group.found)], "are_several": len(_new(group)) > 1}
        for group in presets.groups()
    ]


def _new(group: presets.Group) -> list[presets.Preset]:
    return [preset for preset in group.found if not preset.used_by]


def _line(ready: presets.Preset) -> dict[str, Any]:
    windows = parse_rates(ready.rate)
    fields = {"name": ready.name, **ready.fields}
    return {"ready": ready, "sentence": short_sentence(RateRule(**fields), windows), "url": add_url(fields, windows)}


def ready_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    require(model_admin.has_add_permission(request))
    if request.method == "POST":
        return _save_together(model_admin, request)
    return render_page(model_admin, request, "admin/ratewindow/raterule/ready.html", gettext("Ready rules"), {"ready": ready()})


def _save_together(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """Save in shadow what is new of one kind."""
    kind = request.POST.get("kind")
    saved = [presets.save(preset) for group in presets.groups() if group.kind.name == kind for preset in _new(group)]
    for rule in saved:
        model_admin.log_addition(request, rule, [{"added": {}}])
    if saved:
        messages.success(request, gettext("Saved: %s.") % listed(f"{rule.name}: {mode_in_words(rule)}" for rule in saved))
    return HttpResponseRedirect(reverse("admin:ratewindow_raterule_changelist", request=request))


def in_code(request: HttpRequest) -> Iterator[dict[str, Any]]:
    """The names that have a rate in code and no row."""
    for name in sorted(code_rates.load_names() - set(RateRule.objects.values_list("name", flat=True))):
        rated = code_rates.rated(name)
        rule = code_rates.rule(name)  # None of a rate by a function
        yield {
            "name": name,
            "sentence": sentence_in_code(rated[0]),
            "places": listed(dict.fromkeys(gettext(use.place) for use in rated)),
            "last_hour": last_hour_of(request, name),
            "url": add_url(_fields(rated[0]), rule.windows if rule else ()),
        }


def _fields(use: code_rates.CodeRate) -> dict[str, Any]:
    """What the rate says, as fields of the form, which begins in shadow: people enforce a rule when they have looked at it."""
    more = {
        field: value
        for field, value in use.options.of_rule.items()
        if field != "mode" and value != rate_options.USUAL.of_rule[field]
    }
    return {
        "name": use.name,
        "applies_to": "named",
        "key": use.key,
        "methods": ",".join(sorted(use.methods)),
        "normalise": use.normalise,
        **more,
    }
