"""The catalogs of translations have every message of the sources, filled with the same values, and are compiled."""

import io
from gettext import GNUTranslations
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from testproject.messages import LANGUAGES, extracted, folder_of, places, problems, read

CATALOGS = [pytest.param(place, language, id=f"{place.name}-{language}") for place in places() for language in LANGUAGES]


@pytest.mark.parametrize(("place", "language"), CATALOGS)
def test_a_catalog_is_complete_and_right(place: Path, language: str) -> None:
    wrong = list(problems(read(place, language), extracted(place)))
    assert wrong == [], (
        f"run make messages, translate these in {folder_of(place, language)}/django.po, and run make messages again"
    )


@pytest.mark.parametrize(("place", "language"), CATALOGS)
def test_what_is_compiled_is_the_catalog(place: Path, language: str) -> None:
    compiled = io.BytesIO()
    write_mo(compiled, read(place, language))
    compiled.seek(0)
    with (folder_of(place, language) / "django.mo").open("rb") as file:
        assert _messages(file) == _messages(compiled), "run make messages"


def _messages(file: Any) -> dict[Any, str]:
    """All messages of a compiled catalog; not its header, which names the version of Babel."""
    found: dict[Any, str] = GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    return {message: text for message, text in found.items() if message}


@pytest.mark.parametrize(
    ("source", "translation", "said"),
    [
        ("%(who)s may", "%(who)s darf", None),
        ("%(who)s may %(do)s", "%(do)s darf %(who)s", None),
        ("%s of %s", "%s von %s", None),
        ("10 % of all", "10 % von allen", None),
        ("{text!r} is {what:.3f}", "{what} ist {text!r}", None),
        (("%d rule", "%d rules"), ("eine Regel", "%d Regeln"), "is filled with other values"),
        (("this rule", "%d rules"), ("diese Regel", "%d Regeln"), None),
        (("%d rule", "%d rules"), ("%d Regel", ""), "not translated"),
        (("%d rule", "%d rules"), ("%d Regeln",), "1 plural forms instead of 2"),
        ("%(who)s may", "%(wer)s darf", "is filled with other values"),
        ("%(count)d may", "%(count)s darf", "is filled with other values"),
        ("%s may", "darf", "is filled with other values"),
        ("%d %% of it", "%d % davon", "is filled with other values"),
        ("{text!r} is wrong", "{text} ist falsch", "is filled with other values"),
        ("{text} is wrong", "{txt} ist falsch", "is filled with other values"),
        ("wrong", "", "not translated"),
    ],
)
def test_a_translation_that_lacks_something_is_found(
    source: str | tuple[str, str], translation: str | tuple[str, ...], said: str | None
) -> None:
    catalog, template = Catalog(locale="de"), Catalog()
    catalog.add(source, translation)
    template.add(source)
    found = list(problems(catalog, template))
    assert found == [] if said is None else [said in each for each in found] == [True]


def test_what_is_new_and_what_is_gone_is_found() -> None:
    catalog, template = Catalog(locale="de"), Catalog()
    catalog.add("old", "alt")
    template.add("new", context="of a rule")
    assert list(problems(catalog, template)) == ["not in the catalog: 'new'", "no longer in the sources: 'old'"]
