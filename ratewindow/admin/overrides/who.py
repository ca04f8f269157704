"""The client that a form names: typed, or chosen among users and groups."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.forms.models import ModelChoiceIterator
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import code_keys
from ratewindow.conf.translation import translated
from ratewindow.models import Override
from ratewindow.overrides.as_typed import EXAMPLES, SeveralUsers, as_subject

CHOSEN = "identity_chosen"  # the name of the radio buttons that list several users
HELP = _(
    "An address or a network, such as 203.0.113.9 or 203.0.113.0/24 (a single IPv6 address stands for its /64, as in rules); a "
    "login name or an e-mail address; a user by number, such as user:42; a group, such as group:staff; a value of any other key, "
    "such as header:x-api-key:VALUE; several joined by +, which must all match; or * for everybody."
)
REQUIRED = format_lazy(_("Enter a client, such as {examples}."), examples=_(EXAMPLES))


def may_view_users(request: HttpRequest) -> bool:
    """Whether this person may see users, in the admin if they are there."""
    model: Any = get_user_model()
    registered = admin.site._registry.get(model)
    if registered is not None:
        return registered.has_view_permission(request)
    return any(request.user.has_perm(f"{model._meta.app_label}.{verb}_{model._meta.model_name}") for verb in ("view", "change"))


def may_search_users(request: HttpRequest) -> bool:
    """Whether Django's autocomplete view finds users for this person."""
    registered = admin.site._registry.get(get_user_model())
    return registered is not None and bool(registered.get_search_fields(request)) and registered.has_view_permission(request)


def user_field() -> forms.ModelChoiceField:  # type: ignore[type-arg]
    """A choice of a user with Django's autocomplete; use it only for those who `may_search_users`."""
    created_by: Any = Override._meta.get_field("created_by")  # a foreign key to users, as the autocomplete view needs one
    return forms.ModelChoiceField(
        get_user_model()._default_manager.all(),
        label=_("Or a user"),
        required=False,
        widget=AutocompleteSelect(created_by, admin.site),
        error_messages={"invalid_choice": _("This user does not exist any more: choose another one.")},
    )


class _AtOnce(ModelChoiceIterator):  # type: ignore[type-arg]
    """Choices without the server-side cursor that Django's own open, which a pooler of transactions does not keep."""

    def __iter__(self) -> Iterator[Any]:
        yield "", self.field.empty_label
        yield from map(self.choice, self.queryset.all())


class _GroupField(forms.ModelChoiceField):  # type: ignore[type-arg]
    iterator = _AtOnce


def group_field() -> forms.ModelChoiceField:  # type: ignore[type-arg]
    return _GroupField(
        Group.objects.order_by("name"),
        label=_("Or a group"),
        required=False,
        empty_label=_("No group"),
        error_messages={"invalid_choice": _("This group does not exist any more: choose another one.")},
    )


def typed(request: HttpRequest, text: str, chosen: str = "") -> str:
    """The subject that a text names; `chosen` is one of several users found before. Raises ValidationError."""
    if ":" in text:  # without one it names no key, and a login name may look like the path of a function
        code_keys.check(request, text)
    try:
        return as_subject(text, find_users=may_view_users(request))
    except SeveralUsers as several:
        if chosen in several.users:
            return chosen
        raise ValidationError(_choice(text, several)) from None
    except ValueError as error:
        raise ValidationError(f"{translated(error)}.") from None


def one_of(form: Any) -> None:
    """Set `identity` to the client that was typed or chosen; an error unless there is exactly one."""
    cleaned = form.cleaned_data
    user, group = cleaned.get("user"), cleaned.get("group")
    named = [
        cleaned.get("identity", ""),
        f"user:{user.pk}" if user is not None else "",
        f"group:{group.name}" if group is not None else "",
    ]
    found = list(filter(None, named))
    if len(found) == 1:
        cleaned["identity"] = found[0]
    elif "identity" not in form.errors:
        several = gettext("This names several clients, %s: keep one, and add the others after it.") % gettext(" and ").join(found)
        form.add_error("identity", several if found else REQUIRED)


def _choice(text: str, several: SeveralUsers) -> SafeString:
    """A message with a radio button for each user; the form is sent again with one of them."""
    radios = format_html_join(
        "",
        '<label class="rw-choice"><input type="radio" name="{}" value="{}"> {} ({})</label>',
        ((CHOSEN, identity, name, identity) for identity, name in several.users.items()),
    )
    sentence = gettext("Several users have the login name or e-mail address %s. Choose one, and save again:") % text
    return format_html("{} {}", sentence, radios)
