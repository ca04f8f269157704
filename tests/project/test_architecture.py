"""ARCHITECTURE.md tells the truth: its files are there, and its walks name every file that a request enters."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

import ratewindow
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.rulebook import reading

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = Path(ratewindow.__file__).parent
TEXT = (CHECKOUT / "ARCHITECTURE.md").read_text()


def named_in(text: str) -> set[str]:
    return set(re.findall(r"`((?:\w+/)*\w+\.(?:py|lua))`", text))


def section(title: str) -> str:
    return TEXT.partition(f"### {title}\n")[2].partition("\n##")[0]


def entered(call: Callable[[], object]) -> set[str]:
    """The files of the core whose functions run during a call."""
    files = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE) and not path.is_relative_to(PACKAGE / "contrib"):
            files.add(str(path.relative_to(PACKAGE)))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files


def test_its_files_are_there() -> None:
    named = named_in(TEXT)
    assert len(named) > 40
    assert not [path for path in named if not any((CHECKOUT / place / path).exists() for place in ("", "ratewindow"))]


def test_its_functions_are_in_their_files() -> None:
    named = re.findall(r"`((?:\w+/)*\w+\.py)` `([\w.]+)`", TEXT)
    assert len(named) > 30
    gone = [(path, name) for path, name in named if not re.search(rf"(def|class) {name.rpartition('.')[2]}\b", source_of(path))]
    assert not gone


def source_of(path: str) -> str:
    return next(CHECKOUT / place / path for place in ("ratewindow", "") if (CHECKOUT / place / path).exists()).read_text()


def test_its_glossary_has_at_most_twenty_words() -> None:
    assert 10 < len(re.findall(r"^\* \*\*", TEXT.partition("## Glossary")[2].partition("\n##")[0], re.MULTILINE)) <= 20


@pytest.mark.django_db
def test_its_walks_name_every_file_that_a_request_enters() -> None:
    RateRule.objects.define("limited", "2/m", path="/limited/", mode="enforce")
    reading.reload()
    middleware = RateWindowMiddleware(lambda _: HttpResponse())
    statuses = []

    def visit() -> None:
        statuses.append(middleware(RequestFactory().get("/limited/")).status_code)

    visit()  # the first one also makes connections
    admitted, refused, known = entered(visit), entered(visit), entered(visit)
    assert statuses == [200, 200, 429, 429]
    assert admitted - named_in(section("A request is admitted")) == set()
    assert (refused | known) - named_in(section("A request is admitted") + section("A request is refused")) == set()
