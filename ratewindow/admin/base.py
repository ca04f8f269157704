"""What all lists, forms and pages of the app share: addresses, whose edits they make, and the page that asks before a lockout."""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.messages.storage import default_storage
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, ValidationError
from django.db import models, router, transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.translation import gettext_lazy as _

from ratewindow import rooms
from ratewindow.models import Mode, RateRule, origin
from ratewindow.operations.lockout import REMEDY, lockouts
from ratewindow.request.open_to_staff import reverse as reverse
from ratewindow.rulebook import reading
from ratewindow.rules.rule import Rule


def render_page(model_admin: Any, request: HttpRequest, template: str, title: Any, shown: Mapping[str, Any]) -> TemplateResponse:
    """A page by a template that extends ``admin/ratewindow/page.html``; Unfold builds its breadcrumbs from the model admin."""
    return TemplateResponse(
        request,
        template,
        {
            **model_admin.admin_site.each_context(request),
            "title": title,
            "app": model_admin.opts.app_config,
            "model_admin": model_admin,
            **shown,
        },
    )


def register(model: type[models.Model]) -> Any:
    """Like `django.contrib.admin.register`, but replaces a class that is registered already."""
    if admin.site.is_registered(model):
        admin.site.unregister(model)
    return admin.register(model)


View = Callable[..., HttpResponse]
WHY = "why"  # the field for the reason of a change, in forms of rows that have none of their own
CHECKBOX = "lockout_known"  # the name of the checkbox of the page that asks


def edits_no_rule(view: View) -> View:
    """Mark a view that takes a POST and edits no rule or block: it needs no transaction, which others would wait for."""
    view.edits_no_rule = True  # type: ignore[attr-defined]
    return view


class RecordedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A `ModelAdmin` of which every page, also those that a subclass adds, says whose edits it makes, and asks before it locks
    staff out."""

    show_add_link = True  # without it Unfold's lists have no button that adds

    @property
    def urls(self) -> list[URLPattern]:
        """Wrapped here, since `get_urls` of a subclass may add pages."""
        patterns = super().urls
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = self.around(pattern.callback)
        return patterns

    def around(self, view: View) -> View:
        @wraps(view)
        def recorded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method != "POST" or not self.admin_site.has_permission(request):
                return view(request, *args, **kwargs)
            reason = request.POST.get(WHY) or request.POST.get("reason") or ""
            with origin.edits("admin", user=request.user, reason=reason):
                if CHECKBOX in request.POST or hasattr(view, "edits_no_rule"):
                    return view(request, *args, **kwargs)
                return self._asking(view, request, *args, **kwargs)

        return recorded

    def _asking(self, view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The view in one transaction, which is rolled back where its sender has to confirm a lockout."""
        with transaction.atomic(using=router.db_for_write(RateRule)):
            before = _enforced()
            response = view(request, *args, **kwargs)
            changed = [rule for name, rule in _enforced().items() if rule != before.get(name)]
            sentences = lockouts(changed, request).values()
            if not sentences:
                return response
            transaction.set_rollback(True, using=router.db_for_write(RateRule))
        request._messages = default_storage(request)  # type: ignore[attr-defined]  # nothing has been done
        return _lockout_page(self, request, sentences)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """That of a room, if one has it."""
        pages = (page_of(self, request, object_id) for page_of in rooms.plugged("object_history"))
        return next(filter(None, pages), None) or super().history_view(request, object_id, extra_context)

    def get_form(self, request: HttpRequest, obj: models.Model | None = None, change: bool = False, **kwargs: Any) -> Any:
        """A form that knows its request, as an `EditForm` needs it."""
        form = super().get_form(request, obj, change=change, **kwargs)
        return type(form.__name__, (form,), {"request": request, "by": request.user})

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Django ignores an action that the user may not run, as if nothing was chosen; here it is forbidden."""
        if request.method == "POST" and {*request.POST.getlist("action")} - {"", *self.get_actions(request)}:
            raise PermissionDenied
        return super().changelist_view(request, extra_context)


class ReadOnlyAdmin(RecordedAdmin):
    """A `ModelAdmin` of rows that nobody adds, changes or deletes."""

    def has_add_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


def _enforced() -> dict[str, Rule]:
    """The enforced rules by name, as they are stored."""
    return {row.name: rule for row, rule in reading.readings() if isinstance(rule, Rule) and rule.mode == Mode.ENFORCE}


def _lockout_page(model_admin: Any, request: HttpRequest, sentences: Collection[str]) -> HttpResponse:
    """A form that submits the same POST data again, with the checkbox."""
    left_out = (CHECKBOX, "csrfmiddlewaretoken")
    return render_page(
        model_admin,
        request,
        "admin/ratewindow/confirmation.html",
        _("You would be refused in the admin"),
        {
            "list_name": model_admin.opts.verbose_name_plural,
            "list_url": reverse(f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_changelist", request=request),
            "post_data": [(name, value) for name, values in request.POST.lists() if name not in left_out for value in values],
            "lockouts": [*sentences],
            "remedy": REMEDY,
            "checkbox": CHECKBOX,
        },
    )


class EditForm(forms.ModelForm):  # type: ignore[type-arg]
    """The admin sets `request`. Errors of the model for a field that the form does not have stand above it."""

    request: HttpRequest

    opened = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding and not self.is_bound:
            self.initial["opened"] = "".join(token_of(self.instance) for token_of in rooms.plugged("edit_token"))

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        for check in rooms.plugged("check_edit"):
            check(self.request, self)
        return cleaned

    def _update_errors(self, errors: ValidationError) -> None:
        """A field that failed in the form reaches the model empty, so the model's errors for it are dropped."""
        by_field = errors.error_dict if hasattr(errors, "error_dict") else {NON_FIELD_ERRORS: errors.error_list}
        for field, messages in by_field.items():
            if field not in self.errors or field == NON_FIELD_ERRORS:
                self.add_error(field if field in self.fields else None, self.errors_of(field, messages))

    def errors_of(self, field: str, errors: list[Any]) -> list[Any]:
        """The model's errors for a field, as this form shows them."""
        return errors
