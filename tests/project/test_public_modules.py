"""What a site imports from: testproject and the documents import from these modules and from no other."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.blocks import PAGES, blocks_of

CHECKOUT = Path(__file__).resolve().parents[2]

PUBLIC = {
    "ratewindow",
    "ratewindow.admin.overrides",
    "ratewindow.admin.report",
    "ratewindow.admin.rules",
    "ratewindow.asgi",
    "ratewindow.decorators",
    "ratewindow.contrib.alerts.signals",
    "ratewindow.contrib.history.staff",
    "ratewindow.contrib.logins",
    "ratewindow.contrib.metrics",
    "ratewindow.contrib.metrics.open_telemetry",
    "ratewindow.contrib.metrics.prometheus",
    "ratewindow.contrib.metrics.views",
    "ratewindow.demo",
    "ratewindow.demo.settings",
    "ratewindow.health",
    "ratewindow.limiter",
    "ratewindow.middleware",
    "ratewindow.models",
    "ratewindow.rest_framework",
    "ratewindow.schedule",
    "ratewindow.signals",
    "ratewindow.staff",
    "ratewindow.tasks",
    "ratewindow.testing",
}
NAMES_THAT_ARE_MODULES = {"health", "schedule", "signals", "staff", "tasks", "testing"}  # of `from ratewindow import health`


def imported(code: str) -> Iterator[str]:
    """The modules of ours that a text of Python imports from, or that a setting in it names by a dotted path."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module="ratewindow", names=names):
                yield from (f"ratewindow.{each.name}" if each.name in NAMES_THAT_ARE_MODULES else "ratewindow" for each in names)
            case ast.ImportFrom(module=str(module)):
                yield module
            case ast.Constant(str(text)) if re.fullmatch(r"(ratewindow\.[\w.]+)\.[A-Z]\w+", text):
                yield text.rpartition(".")[0]


def foreign(code: str) -> set[str]:
    return {module for module in imported(code) if module.partition(".")[0] == "ratewindow"} - PUBLIC


SOURCES = {
    **{str(path.relative_to(CHECKOUT)): [path.read_text()] for path in CHECKOUT.joinpath("testproject").rglob("*.py")},
    **{page: [block.code for block in blocks_of(page) if block.language == "python"] for page in PAGES},
}


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_a_public_module_is_there(module: str) -> None:
    importlib.import_module(module)


@pytest.mark.parametrize("name", sorted(name for name, code in SOURCES.items() if code))
def test_sites_and_examples_import_public_modules_alone(name: str) -> None:
    assert set().union(*map(foreign, SOURCES[name])) == set()


@pytest.mark.parametrize(
    "code",
    [
        "import ratewindow.store.stores",
        "from ratewindow.request import guard",
        "def late():\n    from ratewindow.store.stores import shards",
        "MIDDLEWARE = ['ratewindow.request.guard.Guard']",
    ],
)
def test_an_import_of_anything_else_is_found(code: str) -> None:
    assert foreign(code)
