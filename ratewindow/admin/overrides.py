"""Blocks and exemptions in the admin: a list with buttons to end and extend each, and their form."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import URLPattern, path, reverse
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ratewindow.admin import release_page, switch_page
from ratewindow.admin.masking import display, may_see
from ratewindow.admin.override_form import OverrideForm, origin
from ratewindow.admin.registering import register
from ratewindow.admin.wording import ago, until
from ratewindow.conf import time_zone
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import Override
from ratewindow.models.override_manager import YEARS, OverrideQuerySet
from ratewindow.operations import lockout
from ratewindow.operations.override_notes import notes
from ratewindow.overrides import RATE
from ratewindow.overrides.subjects import in_words, masked, parse_subject
from ratewindow.rulebook import current

HOUR = timedelta(hours=1)
UNDO_S = 86_400
_SALT = "ratewindow.override.undo"
_LIST = "admin:ratewindow_override_changelist"
_GONE = "Nothing to undo: they have been deleted."
_EXTEND_FORBIDDEN = "You need the permission to switch all limits off to extend what applies to all visitors, or nearly all."
_ACTIONS = {"allow": "Exempt", "block": "Block", "rate": "Rate"}


class StateFilter(admin.SimpleListFilter):
    """Whether an override is in force at this moment."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("now", "In force"), ("waiting", "Waiting to begin"), ("ended", "Ended")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        now = time_zone.now()
        match self.value():
            case "now":
                return queryset.in_force(now)
            case "waiting":
                return queryset.not_ended(now).filter(starts_at__gt=now)
            case "ended":
                return queryset.ended(now)
        return queryset


@register(Override)
class OverrideAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = OverrideForm
    list_filter = [StateFilter, "action"]
    list_select_related = ["created_by"]
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # counting a million rows once for each choice is slow
    actions = ["end_now", "extend"]
    radio_fields = {"action": admin.VERTICAL}
    fieldsets = [
        (None, {"fields": ["action", "identity", "reason"]}),
        ("Rule and rate", {"fields": ["rule", "rate"]}),
        ("When", {"fields": ["lasts", "expires_at", "starts_at"]}),
    ]

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/overrides.css"]}

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("release/", view(self.release_view), name="ratewindow_override_release"),
            path("undo/", view(self.undo_view), name="ratewindow_override_undo"),
            path("<int:pk>/end/", view(self.end_view), name="ratewindow_override_end"),
            path("<int:pk>/extend/", view(self.extend_view), name="ratewindow_override_extend"),
            *super().get_urls(),
        ]

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        """Staff who may only release clients see the model in the index, too."""
        perms = super().get_model_perms(request)
        return {**perms, "view": perms["view"] or release_page.may_release(request)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_or_change_permission(request) and release_page.may_release(request):
            return HttpResponseRedirect(reverse("admin:ratewindow_override_release"))
        return super().changelist_view(request, extra_context)

    def get_list_display(self, request: HttpRequest) -> Any:
        quick = ["quick"] if self.has_change_permission(request) else []
        return ["action_badge", _column("row", request), "until", *quick]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        return [_column("row", request)]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        """Identities can be searched only by staff who may see them."""
        return ["rule", "reason", *(["identity"] if may_see(request) else [])]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Nor can others filter by them in the query string."""
        if lookup.partition("__")[0] == "identity" and not may_see(request):
            return False
        return super().lookup_allowed(lookup, value, request)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"action": Override.Action.BLOCK, **super().get_changeform_initial_data(request)}

    def get_readonly_fields(self, request: HttpRequest, obj: Override | None = None) -> list[str]:
        return [] if obj is None else [_column("who", request), "made_by"]

    def get_fieldsets(self, request: HttpRequest, obj: Override | None = None) -> Any:
        if obj is None:
            return self.fieldsets
        (name, _), *others = self.fieldsets
        return [(name, {"fields": ["action", _column("who", request), "reason", "made_by"]}), *others]

    def get_form(self, request: HttpRequest, obj: Override | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        return type(form.__name__, (form,), {"request": request})

    def save_model(self, request: HttpRequest, obj: Override, form: Any, change: bool) -> None:
        if not change:
            obj.source = "admin"
        identity = obj.identity  # as typed: saving may replace it by a hash
        super().save_model(request, obj, form, change)
        for note in notes(obj, identity):
            messages.warning(request, note)
        if obj.action == RATE and form.contains_author():
            for each in self._lockouts(request, obj):
                messages.warning(request, f"{each} {lockout.REMEDY}")

    def _lockouts(self, request: HttpRequest, override: Override) -> Iterator[lockout.Lockout]:
        """The rules that would refuse the author in the admin at this rate."""
        windows = tuple(parse_rates(override.rate))
        for name, rule in current.rulebook().by_name.items():
            if (
                override.rule in ("", name)
                and rule.mode == "enforce"
                and (found := lockout.lockout(rule.with_windows(windows), request))
            ):
                yield found

    @admin.display(description="action", ordering="action")
    def action_badge(self, override: Override) -> SafeString:
        state = override.state.replace(" ", "-")
        words = f"{override.rate}" if override.action == "rate" else _ACTIONS.get(override.action, override.action)
        return format_html('<span class="rw-mode rw-{} rw-{}">{}</span>', override.action, state, words)

    @admin.display(description="who", ordering="identity")
    def row_in_full(self, override: Override) -> SafeString:
        return self._row(override, in_words(override.identity))

    @admin.display(description="who")
    def row_masked(self, override: Override) -> SafeString:
        return self._row(override, masked(override.identity))

    def _row(self, override: Override, who: str) -> SafeString:
        details = [_effect(override), override.reason, f"{origin(override)}, {ago(override.created_at)}"]
        return format_html(
            '<strong class="rw-who">{}</strong> <span class="rw-sentence">{}</span>', who, " · ".join(filter(None, details))
        )

    @admin.display(description="until", ordering="expires_at")
    def until(self, override: Override) -> SafeString:
        at = override.starts_at if override.state == "waiting" else override.expires_at
        exact = f"{time_zone.local(at):%Y-%m-%d %H:%M:%S %Z}" if at else ""
        return format_html('<span class="rw-{}" title="{}">{}</span>', override.state.replace(" ", "-"), exact, until(override))

    @admin.display(description="")
    def quick(self, override: Override) -> SafeString:
        """Buttons that submit the form around the list, with its CSRF token, to their own URLs."""
        if override.state == "ended":
            return SafeString('<span class="rw-quick"></span>')  # Django shows a dash for an empty string
        buttons = [("end", "End now")] + ([("extend", "+ 1 h")] if override.expires_at else [])
        links = ((reverse(f"admin:ratewindow_override_{name}", args=[override.pk]), label) for name, label in buttons)
        shown = format_html_join("", '<button type="submit" class="button" formaction="{}">{}</button>', links)
        return format_html('<span class="rw-quick">{}</span>', shown)

    @admin.display(description="who")
    def who_in_full(self, override: Override) -> str:
        return in_words(override.identity)

    @admin.display(description="who")
    def who_masked(self, override: Override) -> str:
        return masked(override.identity)

    @admin.display(description="made")
    def made_by(self, override: Override) -> str:
        return f"{origin(override)}, {ago(override.created_at)}"

    @admin.action(description="End selected ones now", permissions=["change"])
    def end_now(self, request: HttpRequest, overrides: OverrideQuerySet) -> None:
        now = time_zone.now()
        self._set_ends(
            request, overrides.not_ended(now), lambda override: now, "Ended", "Nothing to end: they have already ended."
        )

    @admin.action(description="Extend selected ones by 1 hour", permissions=["change"])
    def extend(self, request: HttpRequest, overrides: OverrideQuerySet) -> None:
        lasting = overrides.not_ended().filter(expires_at__year__lt=YEARS.stop)  # None has no year
        if not switch_page.may_switch(request) and (wide := [each.pk for each in lasting if _meets_everybody(each)]):
            messages.error(request, _EXTEND_FORBIDDEN)
            lasting = lasting.exclude(pk__in=wide)
        self._set_ends(
            request,
            lasting,
            lambda override: override.expires_at + HOUR,
            "Extended by 1 hour",
            "Nothing to extend: they have ended or have no end. Add a new one in place of one that has ended.",
        )

    def release_view(self, request: HttpRequest) -> HttpResponse:
        return release_page.page(self, request)

    def end_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._act_on_one(request, pk, self.end_now)

    def extend_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._act_on_one(request, pk, self.extend)

    def undo_view(self, request: HttpRequest) -> HttpResponse:
        """Restore the ends that the message's button has sent."""
        if response := self._reject(request):
            return response
        try:
            before = signing.loads(request.POST.get("before", ""), salt=_SALT, max_age=UNDO_S)
        except signing.BadSignature:
            messages.error(request, "This can no longer be undone. Change the time in the form instead.")
            return HttpResponseRedirect(reverse(_LIST))
        ends = {int(pk): parse_datetime(end) if end else None for pk, end in before}
        self._set_ends(request, Override.objects.get_queryset().filter(pk__in=ends), lambda each: ends[each.pk], "Undone", _GONE)
        return HttpResponseRedirect(reverse(_LIST))

    def _act_on_one(self, request: HttpRequest, pk: int, action: Any) -> HttpResponse:
        if response := self._reject(request):
            return response
        action(request, Override.objects.get_queryset().filter(pk=pk))
        return HttpResponseRedirect(reverse(_LIST))

    def _reject(self, request: HttpRequest) -> HttpResponse | None:
        if not self.has_change_permission(request):
            raise PermissionDenied
        return None if request.method == "POST" else HttpResponseNotAllowed(["POST"])

    def _set_ends(self, request: HttpRequest, overrides: Any, new_end: Any, done: str, nothing_done: str) -> None:
        """Set a new end of each, log it, and offer to undo it."""
        before, names = [], []
        with transaction.atomic():
            for override in overrides:
                before.append((override.pk, override.expires_at.isoformat() if override.expires_at else ""))
                override.expires_at = new_end(override)
                override.save(update_fields=["expires_at"])
                self.log_change(request, override, [{"changed": {"fields": ["until"]}}])
                names.append(display(request, override.identity))
        if names:
            listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            messages.success(request, _with_undo(request, f"{done}: {listed}.", before))
        else:
            messages.info(request, nothing_done)


def _with_undo(request: HttpRequest, message: str, before: Iterable[tuple[int, str]]) -> SafeString:
    """A message with a button to undo, which is a form with a CSRF token."""
    return format_html(
        '{} <form method="post" action="{}" class="rw-undo"><input type="hidden" name="csrfmiddlewaretoken" value="{}">'
        '<input type="hidden" name="before" value="{}"><button type="submit">Undo</button></form>',
        message,
        reverse("admin:ratewindow_override_undo"),
        get_token(request),
        signing.dumps(list(before), salt=_SALT),
    )


def _column(name: str, request: HttpRequest) -> str:
    return f"{name}_in_full" if may_see(request) else f"{name}_masked"


def _meets_everybody(override: Override) -> bool:
    try:
        return parse_subject(override.identity).meets_everybody
    except ValueError:  # an invalid row, which applies to nobody
        return False


def _effect(override: Override) -> str:
    rule = override.rule
    match override.action:
        case "block":
            return f"refused where rule {rule} applies" if rule else "refused everywhere"
        case "allow":
            return f"exempt from rule {rule}" if rule else "exempt from all rules"
        case _:
            return f"{override.rate} instead of the limits of {f'rule {rule}' if rule else 'all rules'}"
