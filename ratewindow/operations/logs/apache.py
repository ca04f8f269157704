"""Apache's ``LogFormat``, the string or the directive; also gunicorn's ``access_log_format``, whose letters are the same."""

import re

from ratewindow.operations.logs import strftime
from ratewindow.operations.logs.text_format import Field

_FIELD = re.compile(
    r"%%|%[!\d,]*[<>]?(?:\{(?P<name>[^}]*)\})?(?P<letter>\^?[a-zA-Z]|\^F[BU]|\^t[io])"
    r"|%\((?:\{(?P<theirs>[^}]*)\})?(?P<atom>[a-zA-Z])\)s"
)
_DIRECTIVE = re.compile(r"\s*(?:LogFormat|CustomLog\s+\S+)\s+", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ROLES = {
    "h": "client",
    "a": "client",
    "u": "user",
    "r": "request",
    "m": "method",
    "U": "path",
    "q": "query",
    "s": "status",
    "v": "host",
    "V": "host",
}
_ATOMS = {**_ROLES, "a": "agent", "f": "header:referer"}  # of gunicorn, where they differ
_UNITS = ("sec", "msec", "usec")
_FRACTIONS = {"msec_frac": r"\d{3}", "usec_frac": r"\d{6}"}
_HEADERS = {"user-agent": "agent", "host": "host"}
# Fields that may stand before another without anything between them.
_PATTERNS = {"m": r"[A-Z-]*+", "U": r"[^?\s\"]*+", "s": r"[\d-]*+", "v": r"[^/\s:\"]*+", "V": r"[^/\s:\"]*+"}


def describes(text: str) -> bool:
    """Whether the text is such a string."""
    return any(found[0] != "%%" for found in _FIELD.finditer(text))


def parts(text: str) -> list[str | Field]:
    """The fields of the string and what stands between them."""
    directive = _DIRECTIVE.match(text)
    quoted = _QUOTED.match(text, directive.end()) if directive else None
    if quoted:
        text = quoted[1]
    text = text.replace(r"\"", '"').replace(r"\t", "\t")
    made: list[str | Field] = []
    end = 0
    for found in _FIELD.finditer(text):
        made.append(text[end : found.start()])
        end = found.end()
        made += ["%"] if found[0] == "%%" else _parts(found, beside=text[end : end + 1] == "%")
    made.append(text[end:])
    return _joined(made)


def _parts(found: re.Match[str], beside: bool) -> list[str | Field]:
    letter = found["letter"] or found["atom"]
    name = found["name"] or found["theirs"] or ""
    if letter == "t":
        return _time(name, found[0])
    role = (_ATOMS if found["atom"] else _ROLES).get(letter, "")
    if letter == "i" and name:
        role = _HEADERS.get(name.lower(), f"header:{name.lower()}")
    return [Field(role, found[0], _PATTERNS.get(letter, "") if beside else "")]


def _time(name: str, written: str) -> list[str | Field]:
    name = re.sub("^(begin|end):?", "", name)
    if not name:
        return ["[", Field("clf", written), "]"]
    if name in _UNITS:
        return [Field("epoch", written, r"\d++")]
    if name in _FRACTIONS:
        return [Field("t:fraction", written, _FRACTIONS[name])]
    made: list[str | Field] = []
    for text, letter in strftime.pieces(name):
        made += [text, Field(f"t:{letter}", written, strftime.PIECES[letter])] if letter else [text]
    return made


def _joined(parts: list[str | Field]) -> list[str | Field]:
    """The parts with literal texts that are neighbours as one."""
    joined: list[str | Field] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part:
            joined.append(part)
    return joined
