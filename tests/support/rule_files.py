"""Rules as files have them, and strategies for any that a site can have."""

import json
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from ratewindow.contrib.history import files, values
from ratewindow.models import RateRule
from ratewindow.models.fields import to_timedelta

LOGIN: dict[str, Any] = {
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
SEARCH: dict[str, Any] = {
    "name": "search",
    "mode": "shadow",
    "applies_to": "prefix",
    "pattern": "/search/",
    "key": "ip",
    "limits": [{"limit": 30, "period": "1m", "algorithm": "token_bucket", "burst": 60}],
}


def document(*rules: Any) -> bytes:
    return json.dumps({"ratewindow": 1, "rules": rules}).encode()


def make(*rules: Any) -> None:
    """Make the site have these rules, and no other."""
    values.apply(files.changes(list(rules), exact=True))


def stored() -> list[Any]:
    """The rules that the site has."""
    return files.read(files.write(RateRule.objects.prefetch_related("windows")))


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}", fullmatch=True).filter(lambda name: name != "blocks")
periods = st.sampled_from(["500ms", "1s", "10s", "1m", "1m30s", "1h", "2h30m", "1d", "4w2d"])


@st.composite
def limits(draw: st.DrawFn) -> list[dict[str, Any]]:
    drawn: dict[tuple[str, str], dict[str, Any]] = {}
    for period in draw(st.lists(periods, max_size=3)):
        algorithm = draw(st.sampled_from(["sliding_window", "fixed_window", "token_bucket"]))
        values = {"limit": draw(st.integers(0, 1000)), "period": period, "algorithm": algorithm}
        if algorithm == "token_bucket" and draw(st.booleans()):
            values["burst"] = draw(st.integers(1, 1000))
        drawn[period, algorithm] = values
    return sorted(drawn.values(), key=lambda values: (to_timedelta(values["period"]) or timedelta(0), values["algorithm"]))


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
        "normalise": (st.booleans(), False),
        "cost": (st.integers(0, 10), 1),
        "penalty": (st.one_of(st.none(), periods), None),
        "on_error": (st.sampled_from(["", "allow", "refuse", "local"]), ""),
        "response_status": (st.sampled_from([429, 503, 404]), 429),
        "message": (texts, ""),
    }
    values: dict[str, Any] = {"name": draw(names)}
    for name, (strategy, default) in usual.items():
        value = draw(strategy)
        if value != default:
            values[name] = value
    return {**values, "limits": draw(limits())}


sites = st.lists(rules(), max_size=4, unique_by=lambda rule: rule["name"])
