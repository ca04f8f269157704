"""``python -m testproject.messages``: bring the catalogs in ratewindow/locale in step with the sources, and compile them.

A message that is new has an empty translation, one that is gone is removed; the tests find both.
"""

import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

PACKAGE = Path(__file__).resolve().parent.parent / "ratewindow"
LANGUAGES = {"ru": "ru", "zh_Hans": "zh_Hans"}  # folders, and what Babel calls the languages
KEYWORDS = {
    "Problem": None,
    "SeveralUsers": None,
    "TooManyWindows": None,
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


def sources() -> Iterator[tuple[Path, str]]:
    """Each file of the package that may have messages, as Python."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        yield path, "\n".join([text, *_in_f_strings(text)])
    for path in sorted(PACKAGE.rglob("*.html")):
        lines = templatize(path.read_text("utf-8")).splitlines()
        yield path, "\n".join(line.strip() for line in lines)  # a template's indentation means nothing to Python


def _in_f_strings(text: str) -> Iterator[str]:
    """What stands in the braces of f-strings, where Babel finds messages on Python 3.12 and later only."""
    for each in ast.walk(ast.parse(text)):
        if isinstance(each, ast.FormattedValue):
            yield ast.unparse(each.value)


def extracted() -> Catalog:
    """Every message of the sources."""
    catalog = Catalog(project="ratewindow", header_comment=HEADER)
    for path, text in sources():
        place = path.relative_to(PACKAGE).as_posix()
        for _, message, comments, context in extract(
            "python", io.BytesIO(text.encode()), KEYWORDS, comment_tags=("Translators:",), options={"encoding": "utf-8"}
        ):
            catalog.add(message, locations=[(place, 0)], auto_comments=comments, context=context)
    return catalog


def read(language: str) -> Catalog:
    """The catalog of a language; an empty one if it has none yet."""
    path = PACKAGE / "locale" / language / "LC_MESSAGES" / "django.po"
    if not path.exists():
        return Catalog(locale=LANGUAGES[language])
    with path.open("rb") as file:
        return read_po(file, locale=LANGUAGES[language])


def main() -> int:
    template, empty = extracted(), 0
    for language in LANGUAGES:
        catalog, folder = read(language), PACKAGE / "locale" / language / "LC_MESSAGES"
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
        missing = [message.id for message in catalog if message.id and not (message.string and all(_forms(message.string)))]
        print(f"{language}: {len(catalog)} messages, {len(missing)} without a translation")
        empty += len(missing)
    return int(bool(empty))


def _forms(string: str | tuple[str, ...]) -> tuple[str, ...]:
    return (string,) if isinstance(string, str) else tuple(string)


if __name__ == "__main__":
    sys.exit(main())
