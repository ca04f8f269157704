"""Whether a rule would refuse the people who edit rules, so that the form can say so while they are still let in."""

from datetime import timedelta

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from ratewindow.fields import to_text
from ratewindow.matching import Index
from ratewindow.rule import Rule

# A page of the admin is one request, or a dozen where Django serves its static files, and work is a few of them a minute.
FEW_UNITS = 60
LONG_MS = 30_000


def warning(rule: Rule, login: str) -> str:
    """What to say to whoever saved this rule, if it meets the login page at the path `login`; empty if all is well."""
    if rule.count_when is not None or not Index([rule]).match(_a_login(login)):
        return ""
    why = _why(rule, login)
    if not why:
        return ""
    when = "You" if rule.mode == "enforce" else "Once it is enforced, you"
    files = " Static files that Django serves count, too." if rule.applies_to == "all" else ""
    return (
        f"Rule {rule.name} also meets the login page of this admin, {login}. {when} would be refused here {why}.{files} "
        f"Choose a narrower path or a higher limit. If you are locked out, manage.py ratewindow mode {rule.name} off lets you in."
    )


def _why(rule: Rule, login: str) -> str:
    if _identity(rule, login) is None:
        return f"without {rule.key}, which browsers do not send" if rule.on_missing == "refuse" else ""
    for window in sorted(rule.windows, key=lambda each: each.period_ms):
        requests = window.limit // max(1, rule.cost)
        if not window.limit:
            return "always"
        if requests < FEW_UNITS and max(window.period_ms, rule.penalty_ms) >= LONG_MS:
            return f"after {requests} requests in {to_text(timedelta(milliseconds=window.period_ms))}"
    return ""


def _a_login(login: str) -> HttpRequest:
    """As it arrives before anybody is logged in."""
    request = HttpRequest()
    request.method, request.path, request.path_info = "POST", login, login
    request.META = {"REMOTE_ADDR": "192.0.2.1", "SERVER_NAME": "testserver", "SERVER_PORT": "80"}
    request.user = AnonymousUser()
    return request


def _identity(rule: Rule, login: str) -> str | None:
    try:
        return rule.recipe.identity(_a_login(login))
    except Exception:  # a function of the site's, and this is no request of a browser's
        return ""
