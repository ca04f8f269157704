"""A stranger finds each room: few names, all of them explained, and tests that mirror the package."""

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE, TESTS = CHECKOUT / "ratewindow", CHECKOUT / "tests"

# Of an app, by Django's own documentation, and of a typed package.
DJANGOS = set(
    """__init__ admin api apps asgi checks decorators exceptions locale management middleware migrations models py signals
    static tasks templates templatetags testing conf""".split()
)
# Suites of their own, beside the tests that mirror the package: each says in its README what it shows.
# `make test-fast` leaves them out.
SUITES = set(re.findall(r"^SUITES := (.*)$", CHECKOUT.joinpath("Makefile").read_text(), re.MULTILINE)[0].split())
# About the checkout rather than the package.
OTHER = {"benchmarks", "project", "support", "testproject", "typing"}


def folders(place: Path) -> set[str]:
    return {path.name for path in place.iterdir() if path.is_dir() and path.name != "__pycache__"}


def modules(place: Path) -> set[str]:
    return {path.stem for path in place.glob("*.py")}


def names() -> set[str]:
    return {path.name.partition(".")[0] for path in PACKAGE.iterdir() if path.name != "__pycache__"}


def test_the_package_has_few_names() -> None:
    assert len(names()) <= 41


@pytest.mark.parametrize("name", sorted(names() - DJANGOS))
def test_each_name_that_is_not_django_s_is_explained_in_architecture_md(name: str) -> None:
    """In the glossary, or in the picture of the layers."""
    text = CHECKOUT.joinpath("ARCHITECTURE.md").read_text()
    glossary = re.findall(r"\*\*(\w+)\*\*", text.partition("## Layers")[0])
    picture = re.findall(r"\w+", text.partition("## Layers")[2].split("```")[1])
    assert name in {*glossary, *picture}


@pytest.mark.parametrize("folder", sorted(folders(TESTS) - SUITES - OTHER))
def test_a_folder_of_tests_is_a_folder_of_the_package(folder: str) -> None:
    assert (PACKAGE / folder).is_dir()
    for inner in folders(TESTS / folder):
        assert (PACKAGE / folder / inner).is_dir(), f"{folder}/{inner}"


def test_a_test_at_the_top_is_about_a_module_at_the_top() -> None:
    tested = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}
    assert tested - modules(PACKAGE) == set()


@pytest.mark.parametrize("suite", sorted(SUITES))
def test_a_suite_says_what_it_shows_and_how_it_is_run_in_a_few_lines(suite: str) -> None:
    lines = TESTS.joinpath(suite, "README.md").read_text().splitlines()
    assert len(lines) <= 20
    assert f"pytest tests/{suite}" in "\n".join(lines)


def imports(path: Path) -> list[str]:
    return [node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]


def test_what_tests_share_stands_in_no_test_and_in_no_conftest() -> None:
    found = {str(path.relative_to(TESTS)): imports(path) for path in TESTS.rglob("*.py")}
    shared = re.compile(r"tests\.(.*\.)?(test_\w+|conftest)")
    rooms = re.compile(r"(contrib/(\w+/)?|together/)conftest\.py")  # which have the fixtures of the core's folders
    assert [path for path, modules in found.items() if any(map(shared.fullmatch, modules)) and not rooms.fullmatch(path)] == []


def test_modules_that_are_no_tests_stand_in_support_or_in_a_suite() -> None:
    mirrors = [path for folder in folders(TESTS) - SUITES - OTHER for path in TESTS.joinpath(folder).rglob("*.py")]
    others = {"__init__.py", "conftest.py"}
    strangers = [each for each in mirrors if not each.name.startswith("test_") and each.name not in others]
    assert [str(each) for each in strangers if each.parent.name != "support"] == []
