"""Follow a page's blocks of Python as its reader does: they are run in order, and settings in them are read as on a site."""

import ast
import builtins
import dis
import inspect
import io
import logging
import logging.config
import re
import tokenize
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pkgutil import resolve_name
from types import CodeType, ModuleType
from typing import Any

import pytest
from django.apps import AppConfig
from django.conf import global_settings
from rest_framework.settings import DEFAULTS, IMPORT_STRINGS, APISettings

from ratewindow import conf
from ratewindow.store import clients
from tests.support import readers_site
from tests.support.blocks import CHECKOUT, Block


class Reader:
    """Holds the names that the blocks so far have made, all in one namespace. `redis.Redis()` is the run's server."""

    def __init__(self, page: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._redis_url, self._monkeypatch = redis_url, monkeypatch
        self._names = readers_site.names(page)
        self._followed: list[tuple[Block, ast.Module, set[str]]] = []

    def follow(self, block: Block) -> None:
        """Raises what is wrong with the block."""
        code = block.code.replace("redis.Redis()", f"redis.Redis.from_url({self._redis_url!r})")
        place = str(CHECKOUT / block.page)
        tree = ast.parse("\n" * block.line + code, place)
        path = re.match(r"# ([\w/]+)\.py\b", code)  # the file of the block: it can be imported from
        file = path[1].replace("/", ".") if path else ""
        self._names["__package__"] = file.rpartition(".")[0]
        before = {name: repr(value) for name, value in self._names.items()}
        _run(tree, place, _results("\n" * block.line + code), self._names)
        if file:
            vars(readers_site.add_module(file, self._monkeypatch)).update(self._names)
        for name, value in self._names.items():
            if before.get(name) != repr(value) and (hasattr(global_settings, name) or name in _READ_BY):
                _check_setting(name, value)
        self._followed.append((block, tree, _names_in_functions(compile(tree, place, "exec"))))

    def problems(self) -> Iterator[str]:
        """What is wrong in functions that no block has called: names that are not there, and calls of ours that do not fit."""
        for block, tree, names in self._followed:
            for name in sorted(names - self._names.keys() - vars(builtins).keys()):
                yield (
                    f"{block}: a function uses {name!r}, which no block of the page defines: import it in the block, or add it to"
                    " OWN in tests/support/readers_site.py if it is the reader's own"
                )
            for node in ast.walk(tree):
                try:
                    _check_use(node, self._names)
                except (AttributeError, TypeError) as error:
                    yield f"{block.page}:{getattr(node, 'lineno', block.line)}: {error}"

    def leave(self) -> None:
        """Nothing of the page stays; signals hold its functions weakly."""
        self._names.clear()


# Statements


def _run(tree: ast.Module, place: str, results: dict[int, str], names: dict[str, Any]) -> None:
    """Run the statements, and compare what an expression gives with the value in a comment behind it: ``calls.get()  # 3``."""
    for statement in tree.body:
        told = results.get(statement.end_lineno or 0) if isinstance(statement, ast.Expr) else None
        if told is None:
            exec(compile(ast.Module([statement], []), place, "exec"), names)
            continue
        with redirect_stdout(io.StringIO()) as printed:
            value = eval(compile(ast.Expression(statement.value), place, "eval"), names)
        given = printed.getvalue().strip() or repr(value)
        if given != told:
            raise AssertionError(f"line {statement.lineno} gives {given}, not {told}")


def _results(code: str) -> dict[int, str]:
    """The comments that begin with a value, by line."""
    comments = (each for each in tokenize.generate_tokens(io.StringIO(code).readline) if each.type == tokenize.COMMENT)
    found = {}
    for comment in comments:
        told = comment.string.lstrip("# ").partition(",")[0]
        try:
            found[comment.start[0]] = repr(ast.literal_eval(told))
        except (SyntaxError, ValueError):
            continue
    return found


def _names_in_functions(code: CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    own = {each.argval for part in inner for each in dis.get_instructions(part) if each.opname == "LOAD_GLOBAL"}
    return own.union(*map(_names_in_functions, inner))


def _check_use(node: ast.AST, names: dict[str, Any]) -> None:
    """An attribute of a module is there, and a call of ours has arguments that the function takes."""
    match node:
        case ast.Attribute():
            _value(node, names)
        case ast.Call(function, arguments, keywords) if all(each.arg for each in keywords):
            called = _value(function, names)
            is_ours = str(getattr(called, "__module__", "")).startswith("ratewindow")
            if is_ours and not any(isinstance(each, ast.Starred) for each in arguments):
                inspect.signature(called).bind(*arguments, **{str(each.arg): each for each in keywords})


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """That of a name, or of a name in a module; else None."""
    match node:
        case ast.Name(name):
            return names.get(name)
        case ast.Attribute(inner, name) if isinstance(module := _value(inner, names), ModuleType):
            return getattr(module, name)
    return None


# Settings


def _check_setting(name: str, value: Any) -> None:
    _READ_BY.get(name, _check_paths)(value)


def _check_paths(value: Any) -> None:
    """The dotted paths of ours, and of Django's, lead somewhere."""
    match value:
        case str() if re.fullmatch(r"(ratewindow|django)(\.\w+)+", value):
            resolve_name(value)
        case dict():
            _check_paths([*value.values()])
        case list() | tuple():
            for each in value:
                _check_paths(each)


def _check_ratewindow(value: dict[str, Any]) -> None:
    _, wrong = conf.read(value)
    assert not wrong, " ".join(wrong[0])
    if "://" in (url := value.get("REDIS", "")) and url != conf.MEMORY:
        clients.parse(url)


def _check_logging(value: dict[str, Any]) -> None:
    """It is put in force, and taken back; the loggers of the tests go on."""
    logging.config.dictConfig({**value, "disable_existing_loggers": False})
    for logger in map(logging.getLogger, value.get("loggers", {})):
        for handler in [*logger.handlers]:
            handler.close()
            logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        logger.propagate = True


def _check_rest_framework(value: dict[str, Any]) -> None:
    settings = APISettings(value, DEFAULTS, IMPORT_STRINGS)
    for name in value:
        getattr(settings, name)


_READ_BY: dict[str, Callable[[Any], object]] = {
    "RATEWINDOW": _check_ratewindow,
    "INSTALLED_APPS": lambda value: [AppConfig.create(name) for name in value],
    "LOGGING": _check_logging,
    "REST_FRAMEWORK": _check_rest_framework,
}
