"""The gate: the first of ``AUTHENTICATION_BACKENDS``. It lets an attempt pass on to the others, or refuses it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from inspect import getattr_static
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
from django.views.decorators.debug import sensitive_variables

from ratewindow import conf
from ratewindow.contrib.logins import attempt as attempts, devices
from ratewindow.contrib.logins.door import decide_login
from ratewindow.contrib.logins.refused import exception_for
from ratewindow.contrib.logins.targets import EVERY, KNOWN, STRANGERS
from ratewindow.identity.typed_values import normalised
from ratewindow.request import refusal
from ratewindow.request.decide import Steps, arun, run
from ratewindow.request.doors import class_at, has_middleware
from ratewindow.request.guard import Passage
from ratewindow.rulebook import current

LONGEST_ADDRESS = 254  # characters of an e-mail address
MOST_ACCOUNTS = 4  # of one name; one that more share is counted as if it had none
MOST_ATTEMPTS = 100  # in one request; others are answered as wrong
AS_WRONG = 401  # the status of a rule whose refusals look like a wrong password

Credentials = Mapping[str, Any]


class LoginGate:
    """Counts each password that is tried, by the rules that apply to logins, before another backend checks it.

    It identifies nobody: place it before all backends that do. A subclass overrides `find_accounts` alone, to say whom else a
    name means. It has no ``get_user``, so that no session is one of the gate's.
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

    def find_accounts(self, name: str) -> Sequence[Any]:
        """The accounts that may be meant by what somebody has typed as a name: those with it as the field by which users log in,
        or as the e-mail address. One query, whether there are any or not.

        `name` has no spaces around it, and is at least one character. This may run in another thread than the view. A ValueError
        or ValidationError, of a field that takes no such text, means that there are none."""
        model: Any = get_user_model()
        where, email = Q(**{model.USERNAME_FIELD: name}), getattr(model, "get_email_field_name", lambda: "")()
        if "@" in name and email in {each.name for each in model._meta.fields}:
            where |= Q(**{f"{email}__in": {name, name.lower(), BaseUserManager.normalize_email(name)}})
        return [*model._default_manager.filter(where)]

    @final
    def make_attempts(self, request: HttpRequest, names: Iterable[str]) -> Sequence[attempts.Attempt]:
        """Who tries in this request, by the names that were typed and the cookie of known devices: at each account that a name
        may mean, since the backends may check the password of any; or at a name that nobody has."""
        tried: dict[str, dict[Any, Any]] = {}
        shared: set[str] = set()
        for typed in names:
            found = {user.pk: user for user in self._accounts(typed)}
            if len(found) > MOST_ACCOUNTS:
                shared.add(normalised(typed))
                found = {}
            for pk, user in found.items():
                tried.setdefault(normalised(str(user.get_username())), {})[pk] = user
            if not found:
                tried.setdefault(normalised(typed), {})
        known = devices.entries_of(request)
        return [
            attempts.Attempt(request, name, devices.device_of(known, [*users.values()]), [*users.values()], name in shared)
            for name, users in tried.items()
        ]

    def _accounts(self, typed: str) -> Sequence[Any]:
        model: Any = get_user_model()
        longest = max(LONGEST_ADDRESS, model._meta.get_field(model.USERNAME_FIELD).max_length or 0)
        if 0 < len(typed) <= longest and "\0" not in typed:
            with suppress(ValueError, ValidationError):
                if found := self.find_accounts(typed):
                    return found
        model()  # which takes as long as to read an account: time must not tell whether there is one
        return ()

    def _admit(self, request: Any, credentials: Credentials) -> Steps[None]:
        around = attempts.request_of(request)
        if around is None or not conf.current().enabled:
            return
        book: current.Rulebook = yield current.rulebook, current.arulebook
        if not any(kind in book.of_rooms for kind in (EVERY, STRANGERS, KNOWN)):
            return
        tried = yield self.make_attempts, sync_to_async(self.make_attempts), around, _typed(credentials)
        if len(attempts.noted(around)) + len(tried) > MOST_ATTEMPTS:
            attempts.keep(around, credentials, ())
            raise PermissionDenied
        passed: list[attempts.Attempt] = []
        for attempt in tried:
            attempts.note(attempt)
            passage, decision, _ = yield from decide_login(attempt, book, around)
            try:
                if decision.allowed:
                    attempt.defer(passage.visit, decision)
                    passed.append(attempt)
                else:
                    yield from passage.refuse(decision)
            finally:
                passage.leave()
            if passage.refusal is not None:
                for each in passed:
                    each.counts = False  # their passwords are not checked
                attempts.keep(around, credentials, ())  # Django may say that it has failed
                yield from _refuse(passage, attempt)
        attempts.end_forgiving(around)
        attempts.keep(around, credentials, passed)


@sensitive_variables("credentials", "password")
def _without_password(credentials: Credentials) -> Credentials | None:
    """What is given, with an empty password, so that it is not kept; None if there is none, so that nothing is guessed.
    PermissionDenied if nobody could have such a name or password: half of a surrogate pair, which JSON can bring, and on which
    backends fail."""
    password = credentials.get("password")
    if password is None:
        return None
    for text in (password, *credentials.values()):
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise PermissionDenied from None
    return {**credentials, "password": ""}


def name_fields() -> Sequence[str]:
    """The usual fields of credentials that name an account."""
    return get_user_model().USERNAME_FIELD, "username", "email", "login"


def _typed(credentials: Credentials) -> list[str]:
    """The name that is tried; each, where several of the usual fields are given, of which the backend may use any. Without one of
    these it is all that is given beside the password, together."""
    usual = _texts(credentials, name_fields())
    return usual or [" ".join(_texts(credentials, [field for field in credentials if field != "password"]))]


def _texts(credentials: Credentials, fields: Iterable[str]) -> list[str]:
    values = (credentials.get(field) for field in fields)
    texts = (value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in values if value is not None)
    return [*dict.fromkeys(text.strip() for text in texts if text.strip())]


def _refuse(passage: Passage, attempt: attempts.Attempt) -> Steps[None]:
    """Raise what the way in makes its own refusal of; or do what a wrong password costs, and say that it was one."""
    assert passage.refusal is not None
    attempt.refused = passage.refusal
    if passage.outermost:
        refusal.log_refusal(passage.refusal, passage.request)
    # Our middleware answers an exception if it stands around the request, which has reached its view.
    is_answered = has_middleware() and not passage.outermost and passage.request.resolver_match is not None
    if is_answered and refusal.answer_to(passage.refusal).status != AS_WRONG:
        raise exception_for(passage.refusal)
    yield make_password, sync_to_async(make_password), "x"
    raise PermissionDenied


def site_gate() -> LoginGate | None:
    """The site's own gate, which may be of a subclass."""
    return next((gate() for path in settings.AUTHENTICATION_BACKENDS if (gate := class_at(path, LoginGate))), None)


def is_gate(path: str) -> bool:
    """Whether this is the path of a gate."""
    return class_at(path, LoginGate) is not None


class _Backend:
    """A user's ``backend``, which Django sets once its password was right: so the gate learns of it, whatever the way in.

    Until it is set it is the only one beside the gate. Django's ``login()`` asks for it, unless there is one backend alone: the
    gate must not make it ask.
    """

    def __get__(self, user: Any, model: Any = None) -> str:
        if user is not None and "backend" in vars(user):
            return str(vars(user)["backend"])
        others = [path for path in settings.AUTHENTICATION_BACKENDS if not is_gate(path)]
        if len(others) != 1:
            error: Any = AttributeError("backend")
            error.silent_variable_failure = True  # in templates, as where nothing has that name
            raise error
        return others[0]

    def __set__(self, user: Any, path: str) -> None:
        vars(user)["backend"] = path
        attempts.mark_right(user)

    def __delete__(self, user: Any) -> None:
        vars(user).pop("backend", None)


def watch_backends() -> None:
    """Let all users have such a ``backend``, unless their model has its own; called whenever Django has set up its apps."""
    model: Any = get_user_model()
    own = getattr_static(model, "backend", None)
    attempts.sees_success = own is None or isinstance(own, _Backend)
    if own is None:
        concrete = [each for each in model.__mro__ if "_meta" in vars(each) and not each._meta.abstract]
        concrete[-1].backend = _Backend()  # which a backend may also return, as the parent of the model


def is_watched(user: Any) -> bool:
    """Whether the gate learns of it when its ``backend`` is set."""
    return isinstance(getattr_static(type(user), "backend", None), _Backend)
