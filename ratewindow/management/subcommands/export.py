"""``manage.py ratewindow export``: write rules, blocks and the switch to a file."""

import difflib
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands import document_files
from ratewindow.models import RateRule
from ratewindow.operations.documents import text
from ratewindow.operations.documents.site import SECTIONS, site

NAME = "export"
_SYNTAXES = {".json": text.JSON, ".yaml": text.YAML, ".yml": text.YAML}
HELP = (
    "Write rules, blocks and exemptions, and the switch to a file, which import and apply read. The same site always gives the "
    "same bytes. Secrets in blocks and exemptions are hashes, which hold only where PEPPER is the same."
)


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("file", nargs="?", default=document_files.STANDARD, metavar="FILE", help="default standard output")
    parser.add_argument("--format", choices=text.SYNTAXES, help="default as FILE ends; else yaml, or json without PyYAML")
    parser.add_argument("--rules", metavar="NAMES", help="only the rules of these names, separated by commas, and nothing else")
    parser.add_argument("--only", metavar="SECTIONS", help=f"only these, separated by commas: {', '.join(SECTIONS)}")


def run(options: dict[str, Any], stdout: Any) -> None:
    name = options["file"]
    sections = _sections(options)
    try:
        document = site(sections, _rules(options))
        data = text.to_bytes(document, options["format"] or _SYNTAXES.get(Path(name).suffix.lower()) or text.installed()[0])
    except text.NoYaml as error:
        raise CommandError(f"{error} Add --format json.") from None
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be read: {error}. Has manage.py migrate been run?") from None
    document_files.write(name, data, stdout)
    if name != document_files.STANDARD:
        counts = [f"{len(document[each])} {each}" if isinstance(document[each], list) else f"the {each}" for each in sections]
        stdout.write(f"{name} has {', '.join(counts)}.")


def _sections(options: dict[str, Any]) -> list[str]:
    if options["rules"] is not None:
        return ["rules"]
    wanted = _split(options["only"]) or list(SECTIONS)
    if unknown := set(wanted) - set(SECTIONS):
        raise CommandError(f"--only: there is no section {sorted(unknown)[0]!r}: write {', '.join(SECTIONS)}.")
    return [section for section in SECTIONS if section in wanted]


def _rules(options: dict[str, Any]) -> list[str] | None:
    if options["rules"] is None:
        return None
    wanted, known = _split(options["rules"]), set(RateRule.objects.values_list("name", flat=True))
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise CommandError(f"--rules: there is no rule {name!r}{f': did you mean {near[0]}?' if near else '.'}")
    return wanted


def _split(text: str | None) -> list[str]:
    return [each.strip() for each in (text or "").split(",") if each.strip()]
