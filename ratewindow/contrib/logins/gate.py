"""The gate: the first of ``AUTHENTICATION_BACKENDS``. It lets an attempt pass on to the others, or refuses it."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, final

from asgiref.sync import sync_to_async
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import BaseUserManager
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ImproperlyConfigured, PermissionDenied, ValidationError
from django.db.models import Q
from django.http import HttpRequest
from django.utils.module_loading import import_string
from django.views.decorators.debug import sensitive_variables

from ratewindow import conf
from ratewindow.contrib.logins import attempt as attempts, devices
from ratewindow.contrib.logins.attempt import Attempt
from ratewindow.contrib.logins.door import decided
from ratewindow.contrib.logins.refused import exception_for
from ratewindow.contrib.logins.targets import EVERY, KNOWN, STRANGERS
from ratewindow.identity.typed_values import normalised
from ratewindow.request import refusal
from ratewindow.request.decide import Steps, arun, run
from ratewindow.request.guard import Passage
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook

LONGEST_NAME = 254  # characters, as of an e-mail address: no account has a longer one
AS_WRONG = 401  # the status of a rule whose refusals look like a wrong password

Credentials = Mapping[str, Any]


class LoginGate:
    """Counts each password that is tried, by the rules that apply to logins, before another backend checks it.

    It identifies nobody: place it before all backends that do. A subclass overrides `find_account` alone, to say what else a name
    is. It has no ``get_user``, so that no session is one of the gate's.
    """

    def __init__(self) -> None:
        if not apps.is_installed(__package__):
            raise ImproperlyConfigured(
                f"LoginGate counts nothing without its app: add {__package__!r} to INSTALLED_APPS, or leave it out."
            )

    @final
    @sensitive_variables("credentials")
    def authenticate(self, request: Any, **credentials: Any) -> None:
        if (tried := _without_password(credentials)) is not None:
            run(self._admit(request, tried))

    @final
    @sensitive_variables("credentials")
    async def aauthenticate(self, request: Any, **credentials: Any) -> None:
        if (tried := _without_password(credentials)) is not None:
            await arun(self._admit(request, tried))

    def find_account(self, name: str) -> Any:
        """The account that is meant by what somebody has typed as a name, or None: by the field with which users log in, else by
        the e-mail address. One query, whether there is such an account or not."""
        model: Any = get_user_model()
        field = model.USERNAME_FIELD
        where, email = Q(**{field: name}), getattr(model, "get_email_field_name", str)()
        if "@" in name and email in {each.name for each in model._meta.fields}:
            where |= Q(**{f"{email}__in": {name, name.lower(), BaseUserManager.normalize_email(name)}})
        # All of them: to stop at the first would tell by time that it is there.
        found = list(model._default_manager.filter(where).order_by("pk"))
        return next((user for user in found if getattr(user, field) == name), found[0] if found else None)

    def attempt(self, request: HttpRequest, typed: str) -> Attempt:
        """Who tries in this request, by the name that was typed and the cookie of known devices."""
        user = None
        if 0 < len(typed) <= LONGEST_NAME and "\0" not in typed:
            with suppress(ValueError, ValidationError):  # of a field that takes no such text, such as a number
                user = self.find_account(typed)
        name = normalised(typed if user is None else user.get_username())
        return Attempt(request, name, devices.device_of(devices.known(request), name, user), user and user.pk)

    def _admit(self, request: Any, credentials: Credentials) -> Steps[None]:
        around = attempts.request_of(request)
        if around is None or not conf.current().enabled:
            return
        book: Rulebook = yield current.rulebook, current.arulebook
        if not any(kind in book.of_rooms for kind in (EVERY, STRANGERS, KNOWN)):
            return
        names = _typed(credentials)
        passed: list[Attempt] = []
        for name in names:
            attempt = yield self.attempt, sync_to_async(self.attempt), around, name
            attempt.is_sure = len(names) == 1
            attempts.note(attempt)
            passage, decision = yield from decided(attempt, book, around)
            try:
                if decision.allowed:
                    attempt.passed(passage.visit, decision)
                    passed.append(attempt)
                else:
                    yield from passage.refuse(decision)
            finally:
                passage.leave()
            if passage.refusal is not None:
                yield from _refuse(passage, attempt)
        attempts.end_forgiving(around)
        attempts.wait(around, credentials, passed)


@sensitive_variables("credentials", "password")
def _without_password(credentials: Credentials) -> Credentials | None:
    """What is given beside the password; None if there is none, so that nothing is guessed. PermissionDenied if nobody could have
    such a name or password: half of a surrogate pair, which JSON can bring, and on which backends fail."""
    password = credentials.get("password")
    if password is None:
        return None
    for text in (password, *credentials.values()):
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise PermissionDenied from None
    return {**credentials, "password": ""}


def _typed(credentials: Credentials) -> list[str]:
    """The name that is tried; each, where several of the usual fields are given, of which the backend may use any. Without one of
    these it is all that is given beside the password, together."""
    usual = _texts(credentials, (get_user_model().USERNAME_FIELD, "username", "email", "login"))
    return usual or [" ".join(_texts(credentials, [field for field in credentials if field != "password"]))]


def _texts(credentials: Credentials, fields: Iterable[str]) -> list[str]:
    values = (credentials.get(field) for field in fields)
    return [*dict.fromkeys(text for value in values if isinstance(value, str | int) and (text := str(value).strip()))]


def _refuse(passage: Passage, attempt: Attempt) -> Steps[None]:
    """Raise what the way in makes its own refusal of; or do what a wrong password costs, and say that it was one."""
    assert passage.refusal is not None
    attempt.refused = passage.refusal
    if passage.outermost:
        refusal.log_refusal(passage.refusal, passage.request)
    if _is_answered(passage) and refusal.status_of(passage.refusal) != AS_WRONG:
        raise exception_for(passage.refusal)
    yield make_password, sync_to_async(make_password), "x"
    raise PermissionDenied


def _is_answered(passage: Passage) -> bool:
    """Whether our middleware would answer an exception: it must stand around the request, which must have reached its view."""
    has_middleware = any(name.endswith("RateWindowMiddleware") for name in settings.MIDDLEWARE or ())
    return has_middleware and not passage.outermost and passage.request.resolver_match is not None


def site_gate() -> LoginGate | None:
    """The site's own gate, which may be of a subclass."""
    return next((gate() for path in settings.AUTHENTICATION_BACKENDS if (gate := _gate_at(path))), None)


def is_gate(path: str) -> bool:
    """Whether this is the path of a gate."""
    return _gate_at(path) is not None


def _gate_at(path: str) -> type[LoginGate] | None:
    with suppress(ImportError):  # which Django reports where it needs the backend
        found = import_string(path)
        return found if isinstance(found, type) and issubclass(found, LoginGate) else None
    return None


class _SoleBackend:
    """A user's ``backend``, until it is set: the only one beside the gate. Django's ``login()`` asks for it, unless there is one
    backend alone: the gate must not make it ask."""

    def __get__(self, user: Any, model: Any = None) -> str:
        others = [path for path in settings.AUTHENTICATION_BACKENDS if not is_gate(path)]
        if len(others) != 1:
            raise AttributeError("backend")
        return others[0]


def let_users_have_a_backend() -> None:
    model: Any = get_user_model()
    if "backend" not in vars(model):
        model.backend = _SoleBackend()
