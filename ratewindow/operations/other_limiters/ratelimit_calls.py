"""Finds calls of django-ratelimit's `is_ratelimited` and `get_usage`, each with the line of ours that takes its place.

They stand in the middle of code, which no rule by route can see. So the sources of the site are read for them.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps

_FUNCTIONS = ("is_ratelimited", "get_usage")
_PARAMETERS = ("request", "group", "fn", "key", "rate", "method", "increment")
_PACKAGE = "django_ratelimit"


def find() -> Iterator[tuple[str, str]]:
    """The place of each call, ``shop/views.py:12``, and what to write there."""
    for path in sorted(_sources()):
        try:
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text) if _PACKAGE in text else None
        except (OSError, SyntaxError, ValueError):  # not a source that Python itself could import
            continue
        for call, function in _calls(tree) if tree is not None else ():
            shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
            yield f"{shown}:{call.lineno}", f"no rule stands for a call of {function}(). {_remedy(call, function)}"


def _sources() -> set[Path]:
    """The modules of the site's apps, and those that are imported by now."""
    of_apps = (path for app in apps.get_app_configs() for path in Path(app.path).rglob("*.py"))
    imported = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    found = {*of_apps, *(Path(file) for file in imported if file and file.endswith(".py"))}
    return {path for path in found if _PACKAGE not in path.parts}


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Each call, under whatever name the function was imported."""
    names = dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == _PACKAGE:
            names |= {each.asname or each.name: each.name for each in node.names if each.name in _FUNCTIONS}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in names:
                yield node, names[name]
            case ast.Call(func=ast.Attribute(attr=name)) if name in _FUNCTIONS:
                yield node, name


def _remedy(call: ast.Call, function: str) -> str:
    """``Write not ratewindow.hit("login", request, rate="5/m", ...) there.``"""
    given: dict[str, Any] = dict(zip(_PARAMETERS, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    said = {name: ast.unparse(value) for name, value in given.items()}
    arguments = [said.get("group", "'a-name'"), said.get("request", "request")]
    arguments += [f"{name}={said[name]}" for name in ("rate", "key") if name in said]
    counts = said.get("increment", "False") != "False"
    written = f"ratewindow.{'hit' if counts else 'peek'}({', '.join(arguments)}, algorithm='fixed_window')"
    condition = f" Its method={said['method']} is a condition around it." if "method" in said else ""
    return f"Write {'not ' if function == 'is_ratelimited' else ''}{written} there.{condition}"
