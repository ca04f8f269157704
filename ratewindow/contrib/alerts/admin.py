"""Alert channels in the admin: how and about what alerts are sent, what is raised now, and a button that sends a test."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_POST

from ratewindow.admin.base import RecordedAdmin, edits_no_rule, register, reverse
from ratewindow.contrib.alerts.models import WAY_OF, AlertChannel
from ratewindow.contrib.alerts.sending import send_test
from ratewindow.operations.rights import require


class ChannelForm(forms.ModelForm):  # type: ignore[type-arg]
    """It shows the secret of the webhook once: before the channel is saved. static/ratewindow/rule_form.js hides the fields of
    other ways than the chosen one."""

    class Meta:
        model = AlertChannel
        fields = "__all__"  # noqa: DJ007  # those of the admin's fieldsets
        help_texts = {
            "secret": _(
                "Signs what is sent, so that the receiver can check it. Copy it to the receiver now: it is not shown again. "
                "The database has it in plain text."
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "secret" not in self.fields:
            return  # a person who may only look
        secret, adding = self.fields["secret"], self.instance._state.adding
        secret.required = adding and self["way"].value() == AlertChannel.Way.WEBHOOK
        if not adding:
            # Django sends back the initial value of fields with a function as their default.
            secret.show_hidden_initial, self.initial["secret"] = False, ""
            secret.widget = forms.PasswordInput({"class": "vTextField", "autocomplete": "new-password"})
            secret.help_text = _(
                "Signs what is sent, so that the receiver can check it. Leave empty to keep the present one, which is not shown; "
                "enter another one to replace it. The database has it in plain text."
            )
        for name, way in WAY_OF.items():
            self.fields[name].widget.attrs["data-rw-shown"] = f"way={way}"

    def clean_secret(self) -> str:
        return str(self.cleaned_data["secret"] or self.instance.secret)


@register(AlertChannel)
class AlertChannelAdmin(RecordedAdmin):
    form = ChannelForm
    list_display = ["name", "way", "active", "daily_report", "raised_now", "error", "sent_at"]
    list_filter = ["way", "active"]
    radio_fields = {"way": admin.VERTICAL}
    readonly_fields = ["raised_now", "error", "sent_at", "reported"]

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/rule_form.css", "ratewindow/alerts/alerts.css"]}
        js = ["ratewindow/rule_form.js"]

    @admin.display(description=_("raised now"))
    def raised_now(self, channel: AlertChannel) -> str | SafeString:
        lines = format_html_join("", "<div>{}</div>", [(raised["text"],) for raised in channel.raised.values()])
        # One element: Unfold sets several beside one another.
        return format_html("<div>{}</div>", lines) if lines else gettext("nothing")

    def save_model(self, request: HttpRequest, obj: AlertChannel, form: Any, change: bool) -> None:
        """What was edited alone: a run that sends meanwhile writes what it has sent into the same row."""
        obj.save(update_fields=form.changed_data if change else None)

    def get_fieldsets(self, request: HttpRequest, obj: AlertChannel | None = None) -> Any:
        """The secret is a field for those alone who may change it."""
        may_change = self.has_add_permission(request) if obj is None else self.has_change_permission(request, obj)
        return [
            (None, {"fields": ["name", "active"]}),
            (_("How"), {"fields": ["way", "addresses", "url", *(["secret"] if may_change else [])]}),
            (_("Refusals"), {"fields": ["everybody", "unusual", "refused_a_minute"]}),
            (_("Rules"), {"fields": ["unmatched", "ready"]}),
            (_("Operation"), {"fields": ["without_redis", "not_collected"]}),
            (_("Report"), {"fields": ["daily_report"]}),
            *([(_("Now"), {"fields": self.readonly_fields})] if obj else []),
        ]

    def get_urls(self) -> list[URLPattern]:
        test = edits_no_rule(self.admin_site.admin_view(require_POST(self.test_view)))
        return [path("<int:pk>/test/", test, name="ratewindow_alerts_alertchannel_test"), *super().get_urls()]

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The handler of the button "Send a test"."""
        require(self.has_change_permission(request))
        channel = get_object_or_404(AlertChannel, pk=pk)
        if error := send_test(channel):
            messages.error(request, gettext("The test could not be sent: %s") % error)
        else:
            messages.success(request, gettext("The test was sent by the channel %s.") % channel.name)
        return HttpResponseRedirect(reverse("admin:ratewindow_alerts_alertchannel_change", [pk], request))
