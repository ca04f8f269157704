"""The table of bad inputs tells the truth: each item has its tests, and those about servers run on real ones."""

import ast
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.badinputs import items

TESTS = Path(__file__).resolve().parent.parent
SERVED = {"served", "sites", "careful", "any_site", "trusting", "kind", "servers", "site_database", "corrected"}  # their fixtures


@cache
def named_in(path: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def found(test: str) -> ast.FunctionDef:
    path, _, name = test.partition("::")
    assert name in named_in(path), f"{test} is gone: name the one that shows it now"
    return named_in(path)[name]


@pytest.mark.parametrize("item", list(items.ITEMS))
def test_each_item_is_shown_by_tests_that_exist(item: str) -> None:
    assert items.ITEMS[item]
    for test in items.ITEMS[item]:
        found(test)


@pytest.mark.parametrize("item", [*items.ADDRESS, *items.SERVED])
def test_what_is_about_servers_is_shown_on_real_ones(item: str) -> None:
    """On one of gunicorn's and on uvicorn: by the fixtures that the test asks for."""
    table: dict[str, tuple[str, ...]] = {**items.ADDRESS, **items.SERVED}
    assert any({each.arg for each in found(test).args.args} & SERVED for test in table[item]), item


@pytest.mark.parametrize(
    "path",
    sorted(
        {
            test.partition("::")[0]
            for tests in (*items.ADDRESS.values(), *items.SERVED.values())
            for test in tests
            if "serv" in test
        }
    ),
)
def test_the_servers_are_of_both_kinds(path: str) -> None:
    module: Any = import_module(f"tests.{path.removesuffix('.py').replace('/', '.')}")
    text = inspect.getsource(module)
    assert "uvicorn" in text or "served: Served" in text  # the fixture's usual kinds are all there are
