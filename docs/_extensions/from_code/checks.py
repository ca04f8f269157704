"""Below the heading of each check its id and the message that it prints, in which ``…`` is what depends on the site."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from from_code.markdown import plain
from ratewindow.checks import rows, site
from ratewindow.contrib.logins import checks as logins

PAGES = ("developers/checks", "contrib/logins")
LEVELS = ("error", "warning")  # the functions that make messages


def add(page: str) -> str:
    messages = {anchor: text for module in (site, rows, logins) for anchor, text in _messages(module)}
    return re.sub(r"^### ([ew]\d{3})\n", lambda found: found[0] + _quoted(found[1], messages[found[1]]), page, flags=re.MULTILINE)


def _quoted(anchor: str, message: str) -> str:
    return f"\n> **ratewindow.{anchor.upper()}** {plain(message) if re.search(r'[a-z]', message) else ''}\n"


def _messages(module: ModuleType) -> Iterator[tuple[str, str]]:
    """By the anchor of the check."""
    nodes = [*ast.walk(ast.parse(Path(module.__file__).read_text()))]
    assigned = [(node.targets[0], node.value) for node in nodes if isinstance(node, ast.Assign)]
    named = {target.id: value for target, value in assigned if isinstance(target, ast.Name)}
    for call in (node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") in LEVELS):
        number, message = call.args[:2]
        yield f"{call.func.id[0]}{number.value:03}", _text(message, named)


def _text(node: ast.AST, named: dict[str, ast.AST]) -> str:
    """What is known of a text: literals, and names of literals."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, named) for part in parts)
        case ast.FormattedValue(value=ast.Name(id=name)) | ast.Name(id=name) if name in named:
            return _text(named[name], {})
    return "…"
