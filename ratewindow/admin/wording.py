"""Rules, rates in code and times as short English sentences and phrases."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.text import Truncator

from ratewindow.conf import time_zone
from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.types import Window
from ratewindow.models import Override, RateRule, RuleWindow
from ratewindow.models.fields import to_text
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.count_when import LOGIN_FAILED, counts_always, written

DEFAULT_ALGORITHM = RuleWindow._meta.get_field("algorithm").default
_UNITS = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second", "ms": "millisecond"}
_KEYS = {"ip": "address", "user_or_ip": "user or address"}  # other keys are shown as they are
_FIELDS = {
    "header": "{name} header",
    "cookie": "{name} cookie",
    "query": "{name} in the query string",
    "get": "{name} in the query string",
    "post": "{name} in the form",
    "json": "{name} in the JSON",
    "body": "{name} in the form or JSON",
    "jwt": "{name} of the token",
}


def sentence(rule: RateRule, windows: Sequence[Window] | None = None) -> str:
    """``Each address: at most 5 in 1 minute and 20 in 1 hour, on POST /login/.`` With these windows, or those saved."""
    return "; ".join([f"{_clients(rule.key)}: {_amount(rule, windows)}, {_requests(rule)}", *_details(rule)]) + "."


def sentence_in_code(use: CodeRate) -> str:
    """The sentence of a rate in code: ``Each address: at most 5 in 1 minute, where code names it.``"""
    amount = _limits(use.options.windows(use.rate)) if isinstance(use.rate, str) else use.words
    methods = f" on {' or '.join(sorted(use.methods))}" if use.methods else ""
    details = _details(RateRule(name=use.name, key=use.key, normalise=use.normalise, **use.options.of_rule))
    shadow = ["in shadow: counts, and refuses nobody"] if use.options.mode == "shadow" else []
    return "; ".join([f"{_clients(use.key)}: {amount},{methods} where code names it", *details, *shadow]) + "."


def _details(rule: RateRule) -> list[str]:
    """What differs from an ordinary rule."""
    more = [
        _normalised(rule.normalise),
        _missing(rule.key, rule.on_missing),
        _costs(rule.cost),
        _counts(rule.count_when),
        "refused requests also count" if rule.count_refused else "",
        "each request is charged first, and refunded if its answer does not count" if rule.hold else "",
        f"a refusal locks the client out for {_in_words(to_text(rule.penalty))}" if rule.penalty else "",
        f"a process may take {rule.lease:,} units at once" if rule.lease > 1 else "",
        _AWAY.get(rule.on_error, ""),
        f"refused with status {rule.response_status}" if rule.response_status != 429 else "",
        f"refused clients read “{Truncator(rule.message).chars(80)}”" if rule.message else "",
        f"enforced for {rule.enforce_percent} % of clients" if _is_partial(rule) else "",
    ]
    return [*filter(None, more)]


def mode_in_words(rule: RateRule) -> str:
    """``Shadow``, ``Off``, ``Enforce``, or ``Enforce 10 %``."""
    name = rule.get_mode_display().partition(":")[0]
    return f"{name} {rule.enforce_percent} %" if _is_partial(rule) else name


def _is_partial(rule: RateRule) -> bool:
    return rule.mode == "enforce" and rule.enforce_percent < 100


def _counts(count_when: str) -> str:
    """Which requests count, unless all do: ``only failed logins count``."""
    statuses = list(filter(None, written(count_when).split(",")))
    if not statuses or counts_always(count_when):
        return ""
    if statuses == [LOGIN_FAILED]:
        return "only failed logins count"
    listed = f"{', '.join(statuses[:-1])} or {statuses[-1]}" if statuses[1:] else statuses[0]
    return f"only answers with status {listed} count"


def until(override: Override) -> str:
    """``ends in 2 h``, ``ended 5 min ago``, ``begins in 3 d``, or ``no end``."""
    now = time_zone.now()
    match override.state_at(now):
        case "waiting":
            return f"begins in {rounded(override.starts_at - now)}" if override.starts_at else ""
        case "ended":
            return f"ended {ago(override.expires_at, now)}" if override.expires_at else ""
    return f"ends in {rounded(override.expires_at - now)}" if override.expires_at else "no end"


def origin(override: Override) -> str:
    """``by boss, in the admin`` or ``by a command``."""
    place = {"admin": "in the admin", "command": "by a command", "code": "by code"}.get(override.source, override.source)
    return f"by {override.created_by.get_username()}, {place}" if override.created_by else place


def ago(then: datetime, now: datetime | None = None) -> str:
    """``5 min ago``."""
    passed = (now or time_zone.now()) - then
    return "just now" if passed < timedelta(seconds=60) else f"{rounded(passed)} ago"


def rounded(duration: timedelta) -> str:
    """A duration in the largest unit of which it has at least two: ``90 min``, ``2 h``."""
    seconds = max(0.0, duration.total_seconds())
    for unit_s, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds > 1.99 * unit_s:
            return f"{round(seconds / unit_s)} {unit}"
    return f"{round(seconds)} s"


def _amount(rule: RateRule, windows: Sequence[Window] | None) -> str:
    try:
        return _limits([window.freeze() for window in rule.windows.all()] if windows is None else windows)
    except ValueError as error:  # written by raw SQL
        return f"an invalid limit ({error})"


def _limits(windows: Sequence[Window]) -> str:
    if not windows:
        return "no limit yet, so nobody is refused"
    if not all(window.limit for window in windows):
        return "always refused"
    return "at most " + " and ".join(map(_limit, windows))


def _limit(window: Window) -> str:
    """``5 in 1 minute``, ``5 in each day by the clock (UTC)``, ``20 at once and then 5 in 1 minute``, or another algorithm than
    the usual one after it: ``5 in 1 minute (sliding log)``."""
    if window.aligned_to:
        return f"{window.limit:,} in each {window.aligned_to} by the clock ({window.timezone})"
    period, chosen = _in_words(to_text(timedelta(milliseconds=window.period_ms))), algorithm(window.algorithm)
    if window.burst is not None:
        return f"{window.burst:,} at once and then {window.limit:,} in {period}"
    if window.algorithm != DEFAULT_ALGORITHM:
        return f"{window.limit:,} in {period} ({chosen.label.lower()})"
    if window.buckets != chosen.default_buckets:
        return f"{window.limit:,} in {period} ({window.buckets} {'bucket' if window.buckets == 1 else 'buckets'})"
    return f"{window.limit:,} in {period}"


_ALWAYS_THERE = {"ip", "user_or_ip", "global", "path", "method"}  # parts of a key that no request lacks
_MISSING = {
    "ip": "requests without this key count by address",
    "allow": "requests without this key pass uncounted",
    "refuse": "requests without this key are refused",
}


def _missing(key: str, on_missing: str) -> str:
    """What happens to requests without the key, if there may be any."""
    parts = {part.strip() for part in key.split("+")}
    return "" if parts <= _ALWAYS_THERE else _MISSING.get(on_missing, "")


def _normalised(normalise: bool) -> str:
    return "case, blanks and Unicode forms make no difference" if normalise else ""


_AWAY = {
    "allow": "while Redis is away, requests pass uncounted",
    "refuse": "while Redis is away, requests are refused",
    "local": "while Redis is away, each process counts its share",
}


def _costs(cost: int) -> str:
    """The cost of a request, unless it is 1."""
    if cost == 1:
        return ""
    return f"each request costs {cost:,}" if cost else "requests cost nothing and are only checked"


def _clients(key: str) -> str:
    """``ip+header:x-api-key`` is ``Each address + x-api-key header``."""
    if key == "global":
        return "Everybody together"
    return "Each " + " + ".join(_part(part.strip()) for part in key.split("+"))


def _part(part: str) -> str:
    kind, _, name = part.partition(":")
    return _FIELDS[kind].format(name=name) if name and kind in _FIELDS else _KEYS.get(part, part)


def _requests(rule: RateRule) -> str:
    methods = rule.methods.replace(",", " or ")
    match rule.applies_to:
        case "all":
            return f"on every {methods} request" if methods else "on every request"
        case "path":
            return f"on {methods} {rule.pattern}" if methods else f"on {rule.pattern}"
        case "prefix":
            place = f"below {rule.pattern}" if rule.pattern.endswith("/") else f"on paths that start with {rule.pattern}"
            return f"on {methods} {place.removeprefix('on ')}" if methods else place
        case "regex":
            return f"on {methods} to paths that match {rule.pattern}" if methods else f"on paths that match {rule.pattern}"
        case "route":
            return f"on {methods} to the route {rule.pattern}" if methods else f"on the route {rule.pattern}"
        case _:
            return f"on {methods} where code names it" if methods else "where code names it"


def _in_words(period: str) -> str:
    """``1m`` is ``1 minute``; a period of several units stays as it is, ``2h30m``."""
    number, unit = period.rstrip("wdhms"), period.lstrip("0123456789")
    if unit not in _UNITS or not number.isdigit():
        return period
    return f"{number} {_UNITS[unit]}{'' if number == '1' else 's'}"
