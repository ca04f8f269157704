"""``python -m testproject.messages``: bring the catalogs in step with the sources, and compile them.

The core has one for each language, and so has each room, which takes it along when it is deleted. A message that is new has an
empty translation, one that is gone is removed; what a person has to translate or correct is printed.
"""

import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

PACKAGE = Path(__file__).resolve().parent.parent / "ratewindow"
LANGUAGES = {"ru": "ru", "zh_Hans": "zh_Hans"}  # folders, and what Babel calls the languages
KEYWORDS = {
    "Problem": None,
    "LogError": None,
    "TooManyWindows": None,
    "Unreadable": None,
    "translatable": None,
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
_DIRECTIVE = re.compile(r"%[(.\w]")  # Babel also takes the "% o" of "10 % of" for one, and msgfmt then refuses translations
HEADER = "# Messages of ratewindow, as the source has them: `make messages` keeps them in step."


def places() -> list[Path]:
    """The folders that have catalogs: of the core and of each room."""
    return [PACKAGE, *(path.parent for path in sorted(PACKAGE.glob("contrib/*/apps.py")))]


def sources(place: Path) -> Iterator[tuple[Path, str]]:
    """Each file below that may have messages, as Python."""
    rooms = [room for room in places() if room != place and room.is_relative_to(place)]
    paths = [path for path in sorted(place.rglob("*")) if not any(map(path.is_relative_to, rooms))]
    for path in (path for path in paths if path.suffix == ".py"):
        text = path.read_text("utf-8")
        yield path, "\n".join([text, *_in_f_strings(text)])
    for path in (path for path in paths if path.suffix == ".html"):
        lines = templatize(path.read_text("utf-8")).splitlines()
        yield path, "\n".join(line.strip() for line in lines)  # a template's indentation means nothing to Python


def _in_f_strings(text: str) -> Iterator[str]:
    """What stands in the braces of f-strings, where Babel finds messages on Python 3.12 and later only."""
    for each in ast.walk(ast.parse(text)):
        if isinstance(each, ast.FormattedValue):
            yield ast.unparse(each.value)


def extracted(place: Path) -> Catalog:
    """Every message of the sources below."""
    catalog = Catalog(project="ratewindow", header_comment=HEADER)
    for path, text in sources(place):
        location = path.relative_to(place).as_posix()
        for _, message, comments, context in extract(
            "python", io.BytesIO(text.encode()), KEYWORDS, comment_tags=("Translators:",), options={"encoding": "utf-8"}
        ):
            catalog.add(message, locations=[(location, 0)], auto_comments=comments, context=context)
    return catalog


def folder_of(place: Path, language: str) -> Path:
    return place / "locale" / language / "LC_MESSAGES"


def read(place: Path, language: str) -> Catalog:
    """The catalog of a language; an empty one if it has none yet."""
    path = folder_of(place, language) / "django.po"
    if not path.exists():
        return Catalog(locale=LANGUAGES[language])
    with path.open("rb") as file:
        return read_po(file, locale=LANGUAGES[language])


def problems(catalog: Catalog, template: Catalog) -> Iterator[str]:
    """What a person has to translate or correct in a catalog, and which messages of the template it lacks."""
    for message in template:
        known = catalog.get(message.id, message.context) if message.id else None
        if message.id and known is None:
            yield f"not in the catalog: {_shown(message)}"
    for message in catalog:
        if not message.id:
            continue
        forms = _forms(message.string)
        if template.get(message.id, message.context) is None:
            yield f"no longer in the sources: {_shown(message)}"
        elif not all(forms):
            yield f"not translated: {_shown(message)}"
        elif message.fuzzy:
            yield f"marked as fuzzy: {_shown(message)}"
        elif message.pluralizable and len(forms) != catalog.num_plurals:
            yield f"{len(forms)} plural forms instead of {catalog.num_plurals}: {_shown(message)}"
        else:
            expected = [_filled(text) for text in _forms(message.id)]
            for form in forms:
                if _filled(form) not in expected:
                    yield f"{form!r} is filled with other values than the source: {_shown(message)}"


_VALUES = re.compile(r"%\((\w+)\)[-#0 +.\d]*([a-zA-Z])|(%%)|(%[-#0+.\d]*[a-zA-Z])|\{(\w*)((?:![rsa])?)[^{}]*\}")


def _filled(text: str) -> object:
    """The values in a text by name, those without a name in their order, and whether a percent sign is written twice."""
    named, in_order = set(), []
    for name, kind, percent, positional, field, conversion in _VALUES.findall(text.replace("{{", "").replace("}}", "")):
        if positional or percent:
            in_order.append(positional)
        else:
            named.add((name, kind) if name else (field, conversion))
    return named, in_order


def _shown(message: Message) -> str:
    return " / ".join(map(repr, _forms(message.id)))


def main() -> int:
    return sum(update(place, language) for place in places() for language in LANGUAGES) and 1


def update(place: Path, language: str) -> int:
    """Bring one catalog in step; returns how many messages are to be translated or corrected."""
    template, catalog, folder = extracted(place), read(place, language), folder_of(place, language)
    template.creation_date = catalog.creation_date  # a run that changes nothing leaves the files as they are
    catalog.update(template, no_fuzzy_matching=True)
    catalog.obsolete.clear()
    catalog.header_comment = HEADER
    for message in catalog:
        if not any(map(_DIRECTIVE.search, _forms(message.id))):
            message.flags.discard("python-format")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "django.po").open("wb") as file:
        write_po(file, catalog, width=120, sort_output=True, omit_header=False, include_lineno=False)
    with (folder / "django.mo").open("wb") as file:
        write_mo(file, catalog)
    wrong = list(problems(catalog, template))
    print(f"{place.name}, {language}: {len(catalog)} messages, {len(wrong)} to translate or correct", *wrong, sep="\n  ")
    return len(wrong)


def _forms(string: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return (string or "",) if isinstance(string, str | None) else tuple(string)


if __name__ == "__main__":
    sys.exit(main())
