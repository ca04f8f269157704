"""Read the record of a process, which another version or another program may have written."""

import json
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

LONGEST = 500  # characters of a text
MOST = 100  # entries of a list or a tally
_LATEST_S = 86_400.0  # from now: clocks differ

Process = dict[str, Any]


def read(name: str, text: bytes | None, seen_s: float) -> Process:
    """The process `name` by its record `text` of `seen_s`; without a record it is ``silent``.

    ValueError, or another error, says what is wrong with the record.
    """
    parts = name.split("|")
    if len(parts) != 4:
        raise ValueError("not the name of a process")
    host, pid, kind, _ = parts
    if not (pid.isascii() and pid.isdigit() and len(pid) <= 10):
        raise ValueError("the process id is not a number")
    if not (math.isfinite(seen_s) and 0 <= seen_s <= time.time() + _LATEST_S):
        raise ValueError("not a time")
    who: Process = {"host": _text(host), "pid": int(pid), "kind": _text(kind)}
    seen = moment(seen_s)
    if text is None:
        return {**who, "breaker": "silent", "degraded_since": seen, "servers": ["Redis"], "error": ""}
    record = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError("not an object")
    fields = {field: _read(field, convert, record[field]) for field, convert in _FIELDS.items() if field in record}
    found = {**_DEFAULTS, **fields, **who}
    if found["breaker"] == "open" and not found["degraded_since"]:
        found["degraded_since"] = seen
    return found


def moment(moment_s: float | None) -> str | None:
    """A time as text in ISO 8601, in UTC."""
    return None if moment_s is None else datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="seconds")


def _read(field: str, convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{field}: {error}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return "".join(letter if letter.isprintable() else " " for letter in value[:LONGEST])


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return [_text(each) for each in value[:MOST]]


def _servers(value: Any) -> list[str]:
    return _texts(value) or ["Redis"]


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**15:
        raise ValueError("not a whole number from 0")
    return value


def _tally(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return {_text(name): _number(count) for name, count in list(value.items())[:MOST]}


def _moment(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > LONGEST:
        raise TypeError("not a time")
    when = datetime.fromisoformat(value)
    if not 2000 <= when.year <= 9000:
        raise ValueError("not a time between the years 2000 and 9000")
    return moment(when.timestamp())


def _breaker(value: Any) -> str:
    if value not in ("closed", "open"):
        raise ValueError("neither closed nor open")
    return str(value)


def _lately(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return {"decisions": _number(value.get("decisions", 0)), "failed": _tally(value.get("failed", {}))}


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "since": _moment,
    "breaker": _breaker,
    "degraded_since": _moment,
    "servers": _servers,
    "error": _text,
    "policy": _text,
    "rules": _number,
    "rules_read": _moment,
    "rules_error": _text,
    "switch": _text,
    "fallback": _tally,
    "lately": _lately,
    "warnings": _texts,
    "secret": _text,
    "database": _text,
}

# Of fields that a process of another version may not send.
_DEFAULTS: Process = {
    "breaker": "closed",
    "degraded_since": None,
    "servers": ["Redis"],
    "error": "",
    "policy": "requests pass uncounted",
    "rules": 0,
}
