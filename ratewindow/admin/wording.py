"""Rules, rates in code and times as short sentences and phrases, in the reader's language."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import duration, one_of
from ratewindow.conf.translation import translated
from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.types import Window
from ratewindow.models import Override, RateRule, RuleWindow
from ratewindow.reporting.summary import number
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.count_when import LOGIN_FAILED, counts_always, written

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
    return _sentence([_gist(rule, windows), *_details(rule)])


def short_sentence(rule: RateRule, windows: Sequence[Window] | None = None) -> str:
    """The same for lists: of what differs from an ordinary rule only which requests count."""
    return _sentence([_gist(rule, windows), *filter(None, [_counts(rule.count_when, hold=False)])])


def _gist(rule: RateRule, windows: Sequence[Window] | None) -> str:
    values = {"clients": _clients(rule.key), "amount": _amount(rule, windows), "requests": _requests(rule)}
    return gettext("%(clients)s: %(amount)s, %(requests)s") % values


def sentence_in_code(use: CodeRate) -> str:
    """The sentence of a rate in code: ``Each address: at most 5 in 1 minute, where code names it.``"""
    amount = _limits(use.options.windows(use.rate)) if isinstance(use.rate, str) else gettext("a rate by a function")
    values = {"clients": _clients(use.key), "amount": amount, "methods": gettext(" or ").join(sorted(use.methods))}
    first = gettext("%(clients)s: %(amount)s, where code names it")
    if use.methods:
        first = gettext("%(clients)s: %(amount)s, on %(methods)s where code names it")
    details = _details(RateRule(name=use.name, key=use.key, normalise=use.normalise, **use.options.of_rule))
    shadow = [gettext("in shadow: counts, and refuses nobody")] if use.options.mode == "shadow" else []
    return _sentence([first % values, *details, *shadow])


def _sentence(clauses: Sequence[str]) -> str:
    return gettext("%s.") % pgettext("between clauses", "; ").join(clauses)


def _details(rule: RateRule) -> list[str]:
    """What differs from an ordinary rule."""
    more = [
        _counts(rule.count_when, rule.hold),
        _missing(rule.key, rule.on_missing),
        _normalised(rule.normalise),
        _costs(rule.cost),
        gettext("refused requests also count") if rule.count_refused else "",
        gettext("a refusal locks the client out for %s") % _period(rule.penalty) if rule.penalty else "",
        gettext("a process may take %s units at once") % number(rule.lease) if rule.lease > 1 else "",
        str(_AWAY.get(rule.on_error, "")),
        gettext("refused with status %d") % rule.response_status if rule.response_status != 429 else "",
        gettext("refused clients read “%s”") % Truncator(rule.message.rstrip(".。")).chars(80) if rule.message else "",
        gettext("enforced for %d %% of clients") % rule.enforce_percent if _is_partial(rule) else "",
    ]
    return [*filter(None, more)]


def mode_in_words(rule: RateRule) -> str:
    """``Shadow``, ``Off``, ``Enforce``, or ``Enforce 10 %``."""
    if _is_partial(rule):
        return gettext("Enforce %d %%") % rule.enforce_percent
    return {"shadow": gettext("Shadow"), "enforce": gettext("Enforce"), "off": gettext("Off")}.get(rule.mode, rule.mode)


def _is_partial(rule: RateRule) -> bool:
    return rule.mode == "enforce" and rule.enforce_percent < 100


def _counts(count_when: str, hold: bool) -> str:
    """Which requests count, unless all do: ``only failed logins count``."""
    statuses = list(filter(None, written(count_when).split(",")))
    if not statuses or counts_always(count_when):
        return ""
    if statuses == [LOGIN_FAILED]:
        if hold:
            return gettext("only failed logins count: an attempt counts at once, and is taken off again if the login succeeds")
        return gettext("only failed logins count")
    if hold:
        text = gettext(
            "only answers with status %s count: a request counts at once, and is taken off again if its answer has another one"
        )
        return text % one_of(statuses)
    return gettext("only answers with status %s count") % one_of(statuses)


def local_time(at: datetime | None) -> str:
    return date_format(time_zone.local(at), "DATETIME_FORMAT") if at is not None else gettext("an unknown time")


def until(override: Override) -> str:
    """``ends in 2 h``, ``ended 5 min ago``, ``begins in 3 d``, or ``no end``."""
    now = time_zone.now()
    match override.state_at(now):
        case "waiting":
            return gettext("begins in %s") % rounded(override.starts_at - now) if override.starts_at else ""
        case "ended":
            return gettext("ended %s") % ago(override.expires_at, now) if override.expires_at else ""
    return gettext("ends in %s") % rounded(override.expires_at - now) if override.expires_at else gettext("no end")


def origin(override: Override) -> str:
    """``by boss, in the admin`` or ``by a command``."""
    places = {"admin": gettext("in the admin"), "command": gettext("by a command"), "code": gettext("by code")}
    place = places.get(override.source, override.source)
    if not override.created_by:
        return place
    return gettext("by %(person)s, %(place)s") % {"person": override.created_by.get_username(), "place": place}


def ago(then: datetime, now: datetime | None = None) -> str:
    """``5 min ago``."""
    passed = (now or time_zone.now()) - then
    return gettext("just now") if passed < timedelta(seconds=60) else gettext("%s ago") % rounded(passed)


def rounded(duration: timedelta) -> str:
    """A duration in the largest unit of which it has at least two: ``90 min``, ``2 h``."""
    seconds = max(0.0, duration.total_seconds())
    for unit_s, text in ((86_400, gettext("%d d")), (3600, gettext("%d h")), (60, gettext("%d min"))):
        if seconds > 1.99 * unit_s:
            return text % round(seconds / unit_s)
    return gettext("%d s") % round(seconds)


def _amount(rule: RateRule, windows: Sequence[Window] | None) -> str:
    try:
        return _limits([window.freeze() for window in rule.windows.all()] if windows is None else windows)
    except ValueError as error:  # written by raw SQL
        return gettext("an invalid limit (%s)") % translated(error)


def _limits(windows: Sequence[Window]) -> str:
    if not windows:
        return gettext("no limit yet, so nobody is refused")
    if not all(window.limit for window in windows):
        return gettext("always refused")
    return gettext("at most %s") % gettext(" and ").join(map(limit_in_words, windows))


def limit_in_words(window: Window) -> str:
    """``5 in 1 minute``, ``5 in each day by the clock (UTC)``, ``20 at once and then 5 in 1 minute``, or another algorithm than
    the usual one after it: ``5 in 1 minute (sliding log)``."""
    values: dict[str, Any] = {"limit": number(window.limit), "zone": window.timezone, "buckets": window.buckets}
    if window.aligned_to:
        return str(_BY_THE_CLOCK[window.aligned_to]) % values
    chosen = algorithm(window.algorithm)
    values |= {"period": duration(window.period_ms), "algorithm": gettext(chosen.label).lower()}
    if window.burst is not None:
        return gettext("%(burst)s at once and then %(limit)s in %(period)s") % {**values, "burst": number(window.burst)}
    if window.algorithm != DEFAULT_ALGORITHM:
        return gettext("%(limit)s in %(period)s (%(algorithm)s)") % values
    if window.buckets != chosen.default_buckets:
        buckets = ngettext(
            "%(limit)s in %(period)s (%(buckets)d bucket)", "%(limit)s in %(period)s (%(buckets)d buckets)", window.buckets or 0
        )
        return buckets % values
    return gettext("%(limit)s in %(period)s") % values


_BY_THE_CLOCK = {
    "minute": _("%(limit)s in each minute by the clock (%(zone)s)"),
    "hour": _("%(limit)s in each hour by the clock (%(zone)s)"),
    "day": _("%(limit)s in each day by the clock (%(zone)s)"),
    "week": _("%(limit)s in each week by the clock (%(zone)s)"),
}


def _period(period: timedelta | str) -> str:
    return duration(parse_duration(period))


_ALWAYS_THERE = {"ip", "user_or_ip", "global", "path", "method"}  # parts of a key that no request lacks
_MISSING = {
    "ip": _("requests without %s are counted by their address"),
    "allow": _("requests without %s pass uncounted"),
    "refuse": _("requests without %s are refused"),
}
_LACKED = {
    "user": pgettext_lazy("requests without", "a logged-in user"),
    "session": pgettext_lazy("requests without", "a session"),
}


def _missing(key: str, on_missing: str) -> str:
    """What happens to requests without the key, if there may be any: ``requests without username are refused``."""
    parts = [part.strip() for part in key.split("+")]
    lacked = [str(_LACKED.get(part, part.partition(":")[2] or part)) for part in parts if part not in _ALWAYS_THERE]
    if not lacked or on_missing not in _MISSING:
        return ""
    return str(_MISSING[on_missing]) % one_of(lacked)


def _normalised(normalise: bool) -> str:
    return gettext("capital letters and blanks make no difference") if normalise else ""


_AWAY = {
    "allow": _("while Redis is away, requests pass uncounted"),
    "refuse": _("while Redis is away, requests are refused"),
    "local": _("while Redis is away, each process counts its share"),
}


def _costs(cost: int) -> str:
    """The cost of a request, unless it is 1."""
    if cost == 1:
        return ""
    return gettext("each request costs %s") % number(cost) if cost else gettext("requests cost nothing and are only checked")


def _clients(key: str) -> str:
    """``ip+header:x-api-key`` is ``Each address + x-api-key header``."""
    if key == "global":
        return gettext("Everybody together")
    return gettext("Each %s") % " + ".join(_part(part.strip()) for part in key.split("+"))


def _part(part: str) -> str:
    kind, _, name = part.partition(":")
    return str(_FIELDS[kind]).format(name=name) if name and kind in _FIELDS else str(_KEYS.get(part, part))


def _requests(rule: RateRule) -> str:
    place, values = rule.applies_to, {"methods": rule.methods.replace(",", gettext(" or ")), "pattern": rule.pattern}
    if place == "prefix" and rule.pattern.endswith("/"):
        place = "below"
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
