"""Documents of sites: ready ones, and strategies for any that a site can have."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from ratewindow.operations.documents.site import Document, in_order

LOGIN = {
    "name": "login",
    "mode": "enforce",
    "applies_to": "path",
    "pattern": "/login/",
    "methods": "POST",
    "key": "ip+post:username",
    "penalty": "15m",
    "limits": [
        {"limit": 5, "period": "1m", "algorithm": "sliding_window"},
        {"limit": 20, "period": "1h", "algorithm": "sliding_window"},
    ],
}
SEARCH = {
    "name": "search",
    "mode": "shadow",
    "applies_to": "prefix",
    "pattern": "/search/",
    "key": "ip",
    "limits": [{"limit": 30, "period": "1m", "algorithm": "token_bucket", "burst": 60}],
}
BLOCK = {"action": "block", "identity": "ip:203.0.113.0/24", "reason": "scrapers"}
EXEMPTION = {"action": "allow", "rule": "login", "identity": "user:42", "expires_at": "2030-01-31T12:00:00Z"}
OFF = {"off": True, "until": "2030-01-31T12:00:00Z", "reason": "a campaign"}


def document(**sections: Any) -> Document:
    return in_order({"ratewindow": 1, **sections})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}", fullmatch=True).filter(lambda name: name != "blocks")
periods = st.sampled_from(["500ms", "1s", "10s", "1m", "1m30s", "1h", "2h30m", "1d", "4w2d"])
_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_moments = st.integers(0, 400_000_000_000).map(
    lambda ms: (_BEGIN + timedelta(milliseconds=ms)).isoformat().replace("+00:00", "Z")
)


@st.composite
def limits(draw: st.DrawFn) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for period in draw(st.lists(periods, max_size=3)):
        algorithm = draw(st.sampled_from(["sliding_window", "fixed_window", "token_bucket"]))
        values = {"limit": draw(st.integers(0, 1000)), "period": period, "algorithm": algorithm}
        if algorithm == "token_bucket" and draw(st.booleans()):
            values["burst"] = draw(st.integers(1, 1000))
        found[period, algorithm] = values
    return sorted(found.values(), key=lambda values: (_lengths(values["period"]), values["algorithm"]))


def _lengths(period: str) -> timedelta:
    from ratewindow.models.fields import to_timedelta

    return to_timedelta(period) or timedelta(0)


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    applies_to = draw(st.sampled_from(["named", "all", "path", "prefix", "route"]))
    place = {"path": "/login/", "prefix": "/api/", "route": "login"}
    usual: dict[str, tuple[Any, Any]] = {
        "description": (texts, ""),
        "mode": (st.sampled_from(["shadow", "enforce", "off"]), None),
        "enforce_percent": (st.integers(1, 100), 100),
        "applies_to": (st.just(applies_to), None),
        "pattern": (st.just(place.get(applies_to, "")), ""),
        "methods": (st.sampled_from(["", "POST", "GET,HEAD"]), ""),
        "key": (st.sampled_from(["ip", "user", "ip+post:username", "header:x-api-key"]), None),
        "on_missing": (st.sampled_from(["ip", "allow", "refuse"]), "ip"),
        "normalise": (st.booleans(), False),
        "cost": (st.integers(0, 10), 1),
        "count_when": (st.sampled_from(["always", "login_failed", "401,403,5xx"]), "always"),
        "count_refused": (st.booleans(), False),
        "penalty": (st.one_of(st.none(), periods), None),
        "on_error": (st.sampled_from(["", "allow", "refuse", "local"]), ""),
        "response_status": (st.sampled_from([429, 503, 404]), 429),
        "message": (texts, ""),
    }
    values = {"name": draw(names)}
    for name, (strategy, default) in usual.items():
        value = draw(strategy)
        if value != default:
            values[name] = value
    return {**values, "limits": draw(limits())}


@st.composite
def overrides(draw: st.DrawFn) -> dict[str, Any]:
    action = draw(st.sampled_from(["block", "allow", "rate"]))
    rule, begin, end = draw(st.sampled_from(["", "login"])), draw(st.none() | _moments), draw(st.none() | _moments)
    identity = draw(st.sampled_from(["ip:203.0.113.0/24", "ip:203.0.113.9", "user:42", "group:staff", "path:/a"]))
    if identity == "path:/a":  # meets everybody
        rule, end = "login", end or "2021-01-01T00:00:00Z"
    values = {"action": action, "rule": rule, "identity": identity, "rate": "10/m" if action == "rate" else ""}
    if begin and end and datetime.fromisoformat(begin) >= datetime.fromisoformat(end):
        begin = None
    values |= {"starts_at": begin, "expires_at": end, "reason": " ".join(draw(texts).splitlines())}
    return {name: value for name, value in values.items() if value not in ("", None)}


switches = st.one_of(
    st.just({"off": False}),
    st.builds(lambda until: {"off": True, "until": until, "reason": "a campaign"}, _moments),
    st.just({"off": True}),
)


@st.composite
def sites(draw: st.DrawFn) -> Document:
    """What a site can have."""
    found = {rule["name"]: rule for rule in draw(st.lists(rules(), max_size=4))}
    return document(rules=list(found.values()), overrides=draw(st.lists(overrides(), max_size=4)), switch=draw(switches))
