"""Alert channels in the admin: how and about what alerts are sent, what is raised now, digests, and buttons that send one."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.addresses import reverse
from ratewindow.admin.alerts.form import ChannelForm
from ratewindow.admin.confirm_page import AskingAdmin, changes_nothing
from ratewindow.admin.registering import register
from ratewindow.models import AlertChannel
from ratewindow.operations.alerts.raising import send_test
from ratewindow.operations.digests.content import dates
from ratewindow.operations.digests.sending import send_latest


@admin.display(description=_("raised now"))
def raised_now(channel: AlertChannel) -> str | SafeString:
    raised = channel.raised.values() if isinstance(channel.raised, dict) else ()
    texts = [(each["text"],) for each in raised if isinstance(each, dict) and "text" in each]  # not what other programs write
    lines = format_html_join("", "<div>{}</div>", texts)
    return (
        format_html("<div>{}</div>", lines) if lines else gettext("nothing")
    )  # one element: Unfold sets several beside one another


@admin.display(description=_("last error"))
def last_error(channel: AlertChannel) -> str:
    return channel.error or gettext("none")


@admin.display(description=_("digest"), ordering="digest")
def digest_when(channel: AlertChannel) -> str:
    if not channel.digest:
        return gettext("none")
    values = {"when": channel.get_digest_display(), "hour": channel.get_digest_hour_display()}
    return gettext("%(when)s, %(hour)s") % values


@register(AlertChannel)
class AlertChannelAdmin(AskingAdmin):
    form = ChannelForm
    change_form_template = "admin/ratewindow/alertchannel/change_form.html"
    list_display = ["name", "way", "active", raised_now, digest_when, last_error, "sent_at"]
    list_filter = ["way", "active", "digest"]
    radio_fields = {"way": admin.VERTICAL, "digest": admin.VERTICAL}

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/alerts.css"]}

    def get_readonly_fields(self, request: HttpRequest, obj: AlertChannel | None = None) -> Any:
        return [raised_now, last_error, "sent_at", "digest_until"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The address at which this site's report is opened right now."""
        report = request.build_absolute_uri(reverse("admin:ratewindow_report"))
        return {"report_url": report, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: AlertChannel, form: Any, change: bool) -> None:
        """What was edited alone: a run that sends meanwhile writes what it has sent into the same row."""
        obj.save(update_fields=form.changed_data if change else None)

    def get_fieldsets(self, request: HttpRequest, obj: AlertChannel | None = None) -> Any:
        """The secret is a field for those alone who may change it."""
        may_change = self.has_add_permission(request) if obj is None else self.has_change_permission(request, obj)
        state = [(_("Now"), {"fields": [raised_now, last_error, "sent_at", "digest_until"]})] if obj else []
        return [
            (None, {"fields": ["name", "active"]}),
            (_("How"), {"fields": ["way", "addresses", "url", *(["secret"] if may_change else [])]}),
            (_("Digest"), {"fields": ["digest", "digest_hour", "report_url"]}),
            (_("Refusals"), {"fields": ["refused_a_minute", "refused_percent", "unusual"]}),
            (_("Rules"), {"fields": ["never_met_days", "ready_days"]}),
            (_("Operation"), {"fields": ["without_redis", "not_collected"]}),
            *state,
        ]

    def get_urls(self) -> list[URLPattern]:
        # Nothing that could lock anybody out.
        test, latest = (changes_nothing(self.admin_site.admin_view(view)) for view in (self.test_view, self.digest_view))
        return [
            path("<int:pk>/test/", test, name="ratewindow_alertchannel_test"),
            path("<int:pk>/digest/", latest, name="ratewindow_alertchannel_digest"),
            *super().get_urls(),
        ]

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The handler of the button "Send a test"."""

        def send(channel: AlertChannel) -> None:
            if error := send_test(channel):
                messages.error(request, gettext("The test could not be sent: %s") % error)
            else:
                messages.success(request, gettext("The test was sent by the channel %s.") % channel.name)

        return self._pressed(request, pk, send)

    def digest_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The handler of the button "Send the newest digest"."""

        def send(channel: AlertChannel) -> None:
            span, error = send_latest(channel)
            if error:
                messages.error(request, gettext("The digest could not be sent: %s") % error)
            else:
                said = gettext("The digest of %(time)s was sent by the channel %(channel)s.")
                messages.success(request, said % {"time": dates(span), "channel": channel.name})

        return self._pressed(request, pk, send)

    def _pressed(self, request: HttpRequest, pk: int, act: Callable[[AlertChannel], None]) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        act(get_object_or_404(AlertChannel, pk=pk))
        return HttpResponseRedirect(reverse("admin:ratewindow_alertchannel_change", args=[pk]))
