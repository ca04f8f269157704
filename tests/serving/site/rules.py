"""The rules of the served site; written by `prepare` before a server starts."""

from typing import Any

# An hour is longer than any test, so that no unit comes back while one runs.
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "by.path": ("2/h", {"path": "/path/"}),
    "by.prefix": ("3/h", {"prefix": "/prefix/"}),
    "posts": ("1/h", {"path": "/form/", "methods": "POST"}),
    "both": ("3/h", {"path": "/both/"}),
    "asks": ("3/h", {}),
    "users": ("2/h", {"path": "/mine/", "key": "user"}),
    "uploads": ("2/h", {"path": "/upload/"}),
    "crowd": ("25/h", {"path": "/crowd/"}),
    "pipelined": ("5/h", {"path": "/pipelined/"}),
    "dripped": ("9/h", {"path": "/drip/"}),
    "adripped": ("9/h", {"path": "/adrip/"}),
    "slashed": ("3/h", {"path": "/slashed/"}),
    "silent": ("1/h", {"path": "/silent/", "mode": "shadow"}),
    "edited": ("1000/h", {"path": "/edited/"}),
    "login": ("2/h", {"path": "/login/"}),
    "search": ("2/h", {"path": "/search"}),
    "loud": ("2/h", {"path": "/loud/"}),
    "account": ("2/h", {"path": "/account/"}),
    "orders": ("2/h", {"prefix": "/orders/"}),
    "profile": ("2/h", {"path": "/profile/ann/"}),
    "two": ("2/h", {"path": "/two/"}),
    "dotted": ("2/h", {"regex": "^/dotted/.+/end$"}),
    "by.name": ("1/h", {"path": "/named/", "key": "post:username", "on_missing": "allow", "normalise": True}),
    "by.member": ("1/h", {"path": "/named/", "key": "json:user.name", "on_missing": "allow"}),
    "keyed": ("1/h", {"path": "/keyed/", "key": "header:x-api-key"}),
    "guesses": ("3/h", {"prefix": "/guess/", "count_when": "login_failed", "response_status": 403, "message": "Enough."}),
    "aguesses": ("3/h", {"prefix": "/aguess/", "count_when": "login_failed", "response_status": 403, "message": "Enough."}),
    "lost": ("2/h", {"prefix": "/lost/", "count_when": "404"}),
    "charged": ("9/h", {"path": "/charged/"}),
    "acharged": ("9/h", {"path": "/acharged/"}),
    # So short that many whole windows lie between two faults.
    "soaked": ("10/2s", {"path": "/soaked/", "key": "header:x-client"}),
    "asoaked": ("10/2s", {"path": "/asoaked/", "key": "header:x-client", "on_error": "local"}),
    "guarded": ("10/2s", {"path": "/guarded/", "key": "header:x-client", "on_error": "refuse"}),
    "many": ("100000/h", {"path": "/many/"}),
    "amany": ("100000/h", {"path": "/amany/"}),
    "each": ("100000/h", {"path": "/each/", "key": "header:x-client"}),
}


def write() -> None:
    from ratewindow.models import RateRule

    for name, (rate, fields) in RULES.items():
        RateRule.objects.define(name, rate, **{"mode": "enforce", **fields})
