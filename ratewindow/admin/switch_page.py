"""The page that switches all limits off, with a reason and an end, and on again."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.admin import own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.banner import OFF_TAG, SWITCH, off_message
from ratewindow.admin.post_button import post_button
from ratewindow.conf.translation import translated
from ratewindow.limiter.durations import format_duration
from ratewindow.models import LimitSwitch
from ratewindow.operations import switch_off
from ratewindow.rules.kill_switch import Switch

NO_END = "always"
LENGTHS = (("15m", _("15 minutes")), ("1h", _("1 hour")), ("8h", _("8 hours")), (NO_END, _("Until somebody switches them on")))


class SwitchForm(forms.Form):
    """For how long limits are off, and why. A button to undo may send any length."""

    required_css_class = "required"

    length = forms.CharField(
        label=_("For how long"),
        initial="15m",
        widget=forms.RadioSelect(choices=LENGTHS, attrs={"class": "radiolist"}),
        help_text=_("Except with the last choice, limits are switched on again automatically."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=200,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=_("Shown on every page about limits while they are off."),
        error_messages={"required": _("Enter a reason for your colleagues.")},
    )

    def clean_length(self) -> float | None:
        text = self.cleaned_data["length"]
        if text == NO_END:
            return None
        try:
            return switch_off.seconds_of(text)
        except ValueError as error:
            raise forms.ValidationError(f"{translated(error)}.") from None


def may_switch(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.switch_limits"))


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    """The form, which switches limits off, and the handler of the buttons that switch them on."""
    if not may_switch(request):
        raise PermissionDenied
    switch_on = request.POST.get("to") == "on"
    form = SwitchForm(request.POST if request.method == "POST" and not switch_on else None)
    by = request.user.get_username()
    if request.method == "POST" and switch_on:
        before = switch_off.current()
        _report(model_admin, request, switch_off.turn_on(request.POST.get("reason", ""), by), before)
        return _back(request)
    if form.is_valid():
        _report(model_admin, request, switch_off.turn_off(form.cleaned_data["length"], form.cleaned_data["reason"], by))
        return _back(request)
    context = {
        **own_page.context(model_admin, request, gettext("Switch all limits off")),
        "form": form,
        "is_off": bool(off_message()),
        "by_setting": not conf.current().enabled,
        "next": request.GET.get("next", ""),
    }
    return TemplateResponse(request, "admin/ratewindow/switch.html", context)


def _report(
    model_admin: "ModelAdmin[Any]", request: HttpRequest, turned: switch_off.Turned, before: Switch | None = None
) -> None:
    for sentence in turned.unreached:
        messages.warning(request, sentence)
    if not turned.done:
        messages.error(request, gettext("Neither Redis nor the database was reached. Nothing has changed."))
        return
    undo = _undo(request, turned.switch, before)
    if turned.switch.off:  # replaces the banner, which has the same text and button
        sentence = gettext("Limits are switched off %s. Nothing is refused or counted.") % turned.switch.how()
        messages.warning(request, format_html("{} {}", sentence, undo), extra_tags=OFF_TAG)
    else:
        messages.success(request, format_html("{} {}", gettext("Limits are switched on."), undo))
    try:
        model_admin.log_change(request, LimitSwitch.objects.get(pk=switch_off.THE_ROW), f"Switched {turned.switch.words()}.")
    except (DatabaseError, LimitSwitch.DoesNotExist):  # not reached, as a warning above says
        return


def _undo(request: HttpRequest, now: Switch, before: Switch | None) -> SafeString:
    """A button that reverts the change; empty if there is nothing to revert to."""
    if now.off:
        return _button(request, gettext("Switch on again"), {"to": "on"})
    if before is None or not before.is_off(now.at_s):
        return SafeString("")
    length = NO_END if before.until_s is None else format_duration(1000 * max(1, round(before.until_s - now.at_s)))
    return _button(request, gettext("Undo"), {"length": length, "reason": before.reason or gettext("undone")})


def _button(request: HttpRequest, label: str, fields: dict[str, str]) -> SafeString:
    return post_button(request, reverse(SWITCH), label, {"next": request.POST.get("next", ""), **fields})


def _back(request: HttpRequest) -> HttpResponse:
    """Redirect to the page that the user came from, if it is one of this site."""
    to = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=request.is_secure()):
        to = reverse("admin:ratewindow_report" if request.user.has_perm("ratewindow.view_throttlestat") else "admin:index")
    return HttpResponseRedirect(to)
