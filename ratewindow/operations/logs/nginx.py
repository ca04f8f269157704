"""nginx's ``log_format``: the string itself, or the directive as it stands in nginx.conf."""

import re

from ratewindow.operations.logs.text_format import Field

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_DIRECTIVE = re.compile(r"\s*log_format\s+\S+\s+(?:escape=\w+\s+)?")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s;'"]+)""")
_ROLES = {
    "remote_addr": "client",
    "remote_user": "user",
    "time_local": "clf",
    "time_iso8601": "iso",
    "msec": "epoch",
    "request": "request",
    "request_method": "method",
    "request_uri": "target",
    "uri": "path",
    "document_uri": "path",
    "args": "query",
    "query_string": "query",
    "status": "status",
    "http_user_agent": "agent",
    "host": "host",
    "http_host": "host",
    "server_name": "host",
}
# Fields that may stand before another without anything between them, and what the other begins with. The mark of a query,
# which the variable before it ends at, is left to the query.
_STOPS = {"host": "/", "uri": "?", "document_uri": "?", "is_args": "", "request_method": "/"}


def describes(text: str) -> bool:
    """Whether the text is such a string."""
    return bool(_VARIABLE.search(text))


def parts(text: str) -> list[str | Field]:
    """The fields of the string and what stands between them."""
    directive = _DIRECTIVE.match(text)
    if directive:
        text = "".join(_plain(found) for found in _QUOTED.finditer(text, directive.end()))
    made: list[str | Field] = []
    end = 0
    for found in _VARIABLE.finditer(text):
        if found.start() > end:
            made.append(text[end : found.start()])
        end = found.end()
        made.append(_field(found[1] or found[2]))
    if end < len(text):
        made.append(text[end:])
    return made


def _plain(found: re.Match[str]) -> str:
    return re.sub(r"\\(['\"\\])", r"\1", found[1] or found[2] or found[3] or "")


def _field(variable: str) -> Field:
    role = _ROLES.get(variable, "")
    if not role and variable.startswith("http_"):
        role = "header:" + variable[5:].replace("_", "-")
    return Field(role, f"${variable}", _STOPS.get(variable))
