"""Rules, rates in code, times and reasons as short sentences and phrases, in the reader's language."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.utils.timesince import timesince
from django.utils.translation import gettext, gettext_lazy as _, pgettext, pgettext_lazy

from ratewindow import rooms
from ratewindow.conf.in_words import duration, listed, number, one_of, translated
from ratewindow.limiter import algorithms, penalties
from ratewindow.limiter.types import Window
from ratewindow.models import Override, RateRule, RuleWindow
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.rule import ALWAYS, LOGIN_FAILED, written

ALWAYS_THERE = {"ip", "user_or_ip", "global", "path", "method"}  # parts of a key that no request lacks
DEFAULT_ALGORITHM = RuleWindow._meta.get_field("algorithm").default
_KEYS = {  # after "Each"; other keys are shown as they are
    "ip": pgettext_lazy("each", "address"),
    "user": pgettext_lazy("each", "user"),
    "user_or_ip": pgettext_lazy("each", "user or address"),
    "session": pgettext_lazy("each", "session"),
    "route": pgettext_lazy("each", "route"),
    "path": pgettext_lazy("each", "path"),
    "method": pgettext_lazy("each", "method"),
}
_FIELDS = {
    "header": _("{name} header"),
    "cookie": _("{name} cookie"),
    "query": _("{name} in the query string"),
    "get": _("{name} in the query string"),
    "post": _("{name} in the form"),
    "json": _("{name} in the JSON"),
    "body": _("{name} in the form or JSON"),
    "jwt": _("{name} of the token"),
}


def sentence(rule: RateRule, windows: Sequence[Window] | None = None) -> str:
    """``Each address: at most 5 in 1 minute and 20 in 1 hour, on POST /login/.`` With these windows, or those saved."""
    return _sentence([_gist(rule, _amount(rule, windows)), *_details(rule)])


def short_sentence(rule: RateRule, windows: Sequence[Window] | None = None) -> str:
    """The same for lists: of what differs from an ordinary rule only which requests count."""
    return _sentence([_gist(rule, _amount(rule, windows)), *filter(None, [_counts(rule.count_when)])])


def _gist(rule: RateRule, amount: str) -> str:
    return gettext("%(clients)s: %(amount)s, %(requests)s") % {
        "clients": clients(rule.key),
        "amount": amount,
        "requests": _requests(rule),
    }


def sentence_in_code(use: CodeRate) -> str:
    """The sentence of a rate in code: ``Each address: at most 5 in 1 minute, where code names it.``"""
    methods = ",".join(sorted(use.methods))
    rule = RateRule(name=use.name, key=use.key, methods=methods, normalise=use.normalise, **use.options.of_rule)
    amount = _limits(use.options.windows(use.rate)) if isinstance(use.rate, str) else gettext("a rate by a function")
    shadow = [gettext("in shadow: counts, and refuses nobody")] if use.options.mode == "shadow" else []
    return _sentence([_gist(rule, amount), *_details(rule), *shadow])


def _sentence(clauses: Sequence[str]) -> str:
    return gettext("%s.") % pgettext("between clauses", "; ").join(clauses)


def _details(rule: RateRule) -> list[str]:
    """What differs from an ordinary rule."""
    more = [
        _counts(rule.count_when),
        gettext("charged first and refunded after") if rule.hold else "",
        gettext("a success deletes the client's counts") if rule.forgive else "",
        str(_MISSING.get(rule.on_missing, "")) if not ALWAYS_THERE.issuperset(rule.key.split("+")) else "",
        gettext("capital letters and blanks make no difference") if rule.normalise else "",
        gettext("each request costs %s") % number(rule.cost) if rule.cost != 1 else "",
        gettext("over the limit, requests pass and still count") if rule.soft else "",
        gettext("refused requests also count") if rule.count_refused else "",
        _penalty(rule.penalty) if rule.penalty and not rule.soft else "",
        str(_UNAVAILABLE.get(rule.on_error, "")),
        gettext("refused with status %d") % rule.response_status if rule.response_status != 429 else "",
        gettext("refused clients read “%s”") % rule.message.rstrip(".。") if rule.message else "",
        gettext("enforced for %d %% of clients") % rule.enforce_percent if _is_partial(rule) else "",
    ]
    return [*filter(None, more)]


def _penalty(text: str) -> str:
    """``a refusal locks the client out for 15 minutes``; each duration of one that grows."""
    try:
        penalty = penalties.as_growing(penalties.parse_penalty(text))
    except ValueError as error:  # written by raw SQL
        return gettext("an invalid penalty (%s)") % translated(error)
    times = pgettext("between lock-outs, each longer", ", then ").join(map(duration, penalty.steps_ms))
    within = (
        gettext(" (each within %s of the start of the one before)") % duration(penalty.within_ms) if penalty.within_ms else ""
    )
    return gettext("a refusal locks the client out for %s") % times + within


MODES = {"enforce": _("Enforce"), "shadow": _("Shadow"), "off": _("Off"), "code": _("In code"), "soft": _("Soft limit")}


def mode_in_words(rule: RateRule) -> str:
    """``Shadow``, ``Off``, ``Enforce``, or ``Enforce 10 %``."""
    if _is_partial(rule):
        return gettext("Enforce %d %%") % rule.enforce_percent
    return str(MODES.get(rule.mode, rule.mode))  # raw SQL can have written any


def _is_partial(rule: RateRule) -> bool:
    return rule.mode == "enforce" and rule.enforce_percent < 100


def _counts(count_when: str) -> str:
    """Which requests count, unless all do: ``only failed logins count``."""
    if not count_when or written(count_when) == ALWAYS:
        return ""
    if count_when == LOGIN_FAILED:
        return gettext("only failed logins count")
    return gettext("only answers with status %s count") % one_of(written(count_when).split(","))


@admin.display(description=_("made"))
def made_by(override: Override) -> str:
    """``by boss, in the admin, 5 minutes ago``."""
    places = {
        "admin": gettext("in the admin"),
        "command": gettext("by a command"),
        "api": gettext("by the API"),
        "code": gettext("by code"),
    }
    person = gettext("by %s") % override.created_by.get_username() if override.created_by else ""
    return listed(filter(None, [person, places.get(override.source, override.source), ago(override.created_at)]))


def ago(then: Any) -> str:
    """``5 minutes ago``."""
    return gettext("%s ago") % timesince(then, depth=1)


def _amount(rule: RateRule, windows: Sequence[Window] | None) -> str:
    try:
        own = _limits([window.freeze() for window in rule.windows.all()] if windows is None else windows)
    except ValueError as error:  # written by raw SQL
        own = gettext("an invalid limit (%s)") % translated(error)
    values = {"function": rule.limits_from, "own": own}
    return gettext("as “%(function)s” gives, else %(own)s") % values if rule.limits_from else own


def _limits(windows: Sequence[Window]) -> str:
    if not windows:
        return gettext("no limit yet, so nobody is refused")
    if not all(window.limit for window in windows):
        return gettext("always refused")
    return gettext("at most %s") % gettext(" and ").join(map(limit_in_words, windows))


def limit_in_words(window: Window) -> str:
    """``5 in 1 minute``, ``20 at once and then 5 in 1 minute``, ``5 in each day by the clock (UTC)``, or with another algorithm
    than the usual one after it: ``5 in 1 minute (sliding log)``."""
    values: dict[str, Any] = {
        "limit": number(window.limit),
        "period": duration(window.period_ms),
        "algorithm": gettext(algorithms.algorithm(window.algorithm).label).lower(),
    }
    if window.aligned_to:
        words = _BY_THE_CLOCK[window.aligned_to] if window.day == 1 else _FROM_A_DAY
        return str(words) % {**values, "zone": window.timezone, "day": window.day}
    if window.burst is not None:
        return gettext("%(burst)s at once and then %(limit)s in %(period)s") % {**values, "burst": number(window.burst)}
    if window.algorithm != DEFAULT_ALGORITHM:
        return gettext("%(limit)s in %(period)s (%(algorithm)s)") % values
    return gettext("%(limit)s in %(period)s") % values


_BY_THE_CLOCK = {
    "minute": _("%(limit)s in each minute by the clock (%(zone)s)"),
    "hour": _("%(limit)s in each hour by the clock (%(zone)s)"),
    "day": _("%(limit)s in each day by the clock (%(zone)s)"),
    "week": _("%(limit)s in each week by the clock (%(zone)s)"),
    "month": _("%(limit)s in each month of the calendar (%(zone)s)"),
}
_FROM_A_DAY = _("%(limit)s in each month that begins on day %(day)s (%(zone)s)")
_MISSING = {
    "ip": _("requests without the key are counted by their address"),
    "allow": _("requests without the key pass uncounted"),
    "refuse": _("requests without the key are refused"),
}
_UNAVAILABLE = {
    "allow": _("while Redis is unavailable, requests pass uncounted"),
    "refuse": _("while Redis is unavailable, requests are refused"),
    "local": _("while Redis is unavailable, each process counts its share"),
}


def clients(key: str) -> str:
    """``ip+header:x-api-key`` is ``Each address + x-api-key header``."""
    if key == "global":
        return gettext("Everybody together")
    return gettext("Each %s") % " + ".join(_part(part.strip()) for part in key.split("+"))


def _part(part: str) -> str:
    kind, _, name = part.partition(":")
    return (
        str(_FIELDS[kind]).format(name=name)
        if name and kind in _FIELDS
        else str(_KEYS.get(part) or rooms.client_keys().get(part, part))
    )


def _requests(rule: RateRule) -> str:
    place, values = rule.applies_to, {"methods": rule.methods.replace(",", gettext(" or ")), "pattern": rule.pattern}
    if place == "prefix" and rule.pattern.endswith("/"):
        place = "below"
    if target := rooms.targets().get(place):
        return str(target.words)
    return str(_WHERE.get(place, _WHERE["named"])[bool(rule.methods)]) % values


_WHERE = {  # of all methods, and of some
    "named": (_("where code names it"), _("on %(methods)s where code names it")),
    "all": (_("on every request"), _("on every %(methods)s request")),
    "path": (_("on %(pattern)s"), _("on %(methods)s %(pattern)s")),
    "below": (_("below %(pattern)s"), _("on %(methods)s below %(pattern)s")),
    "prefix": (_("on paths that start with %(pattern)s"), _("on %(methods)s paths that start with %(pattern)s")),
    "regex": (_("on paths that match %(pattern)s"), _("on %(methods)s to paths that match %(pattern)s")),
    "route": (_("on the route %(pattern)s"), _("on %(methods)s to the route %(pattern)s")),
}


LIMIT_OR_BLOCK = "limit_or_block"  # for readers who may not know of blocks
REFUSED = {
    "limit": _("Over the limit"),
    "penalty": _("Locked out by a penalty"),
    "block": _("Blocked"),
    LIMIT_OR_BLOCK: _("Over the limit, or blocked"),
    "cost": _("Costs more than the limit"),
    "missing": _("No such user, header or field"),
    "store": _("Redis did not answer, and the rule refuses then"),
}
FAILED = {
    "store:timeout": _("Redis did not answer in time"),
    "store:connection": _("Redis could not be reached"),
    "store:loading": _("Redis was loading its data"),
    "store:busy": _("Redis was busy with a script"),
    "store:oom": _("Redis was out of memory"),
    "store:readonly": _("Redis was read-only, such as a replica"),
    "store:auth": _("Redis refused the password"),
    "store:noperm": _("Redis did not permit a command"),
    "store:misconf": _("Redis could not save its data, and refused writes"),
    "store:noreplicas": _("Redis had too few replicas, and refused writes"),
    "store:masterdown": _("Redis had lost its master"),
    "store:maxclients": _("Redis had too many clients"),
    "store:pool": _("No connection was free"),
    "store:denied": _("Redis refuses connections from this host (protected mode)"),
    "store:unsupported": _("Redis does not support a command"),
    "store:database": _("Redis has no database with that number"),
    "store:error": _("Redis, or a proxy before it, answered with an error: see the log"),
    "store:cluster": _("A part of the cluster was not reachable"),
    "store:sentinel": _("The Sentinels named no master"),
    "store:protocol": _("The answer did not come from a Redis server"),
    "store:wrongtype": _("Another program has written to a key of the limiter"),
    "store:script": _("Redis refused the script"),
    "store:toomany": _("A request matched rules with more limits than one decision may have: see the log"),
    "store:internal": _("An error in the limiter: see the log"),
    "function:cost": _("The site's function for a cost failed"),
    "function:rate": _("The site's function for a rate failed"),
    "function:key": _("The site's function for a key failed"),
    "function:limits": _("The site's function for limits failed"),
    "function:condition": _("The site's function for a condition failed"),
}


def cause_in_words(cause: str) -> str:
    """A cause in words: ``store:timeout`` is ``Redis did not answer in time``."""
    return str(FAILED.get(cause, cause))
