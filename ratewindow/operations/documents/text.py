"""Documents as files of JSON and YAML: the same bytes for the same document, and read back as what was written."""

import json
from types import ModuleType
from typing import Any, NoReturn

from django.utils.translation import gettext

from ratewindow.conf.in_escapes import in_escapes
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.documents.site import Document, in_order

YAML, JSON = "yaml", "json"
SYNTAXES = (YAML, JSON)


class NoYaml(Exception):
    """PyYAML, which is optional, is not installed."""

    def __init__(self) -> None:
        command = "pip install 'ratewindow[yaml]'"
        super().__init__(gettext("YAML needs PyYAML, which is not installed: run %s, or use JSON.") % command)


def installed() -> tuple[str, ...]:
    """The syntaxes that can be read and written here."""
    try:
        _yaml_text()
    except NoYaml:
        return (JSON,)
    return SYNTAXES


def to_bytes(document: Document, syntax: str) -> bytes:
    """The document as a file. Raises NoYaml."""
    document = in_order(document)
    if syntax == JSON:
        return (in_escapes(json.dumps(document, ensure_ascii=False, indent=2)) + "\n").encode()
    yaml_text = _yaml_text()
    if "rules" in document:
        document["rules"] = [
            {**rule, "limits": [yaml_text.OnOneLine(limit) for limit in rule["limits"]]} for rule in document["rules"]
        ]
    return in_escapes(yaml_text.write(document)).encode()


def from_bytes(data: bytes, most_nodes: int | None = None) -> Any:
    """What a file says, which is not checked yet; of YAML, at most so many values. Raises DocumentError and NoYaml."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = gettext("Byte %d is not UTF-8: save the file as UTF-8.") % (error.start + 1)
        raise DocumentError([problem]) from None
    if not text.strip():
        raise DocumentError([gettext("There is nothing in it: export a site to see what it looks like.")])
    try:
        said = _from_json(text) if text.lstrip().startswith("{") else _yaml_text().read(text, most_nodes)
        json.dumps(said, ensure_ascii=False).encode()  # an escape may be half a character, which breaks pages and tables
    except RecursionError:
        raise DocumentError([gettext("There are too many lists in lists.")]) from None
    except UnicodeEncodeError as error:
        problem = gettext("%s has half a character, which cannot be stored: remove it.") % repr(error.object[error.start])
        raise DocumentError([problem]) from None
    except ValueError as error:
        raise DocumentError([str(error)]) from None
    return said


def _yaml_text() -> ModuleType:
    try:
        from ratewindow.operations.documents import yaml_text
    except ImportError:
        raise NoYaml from None
    return yaml_text


def _from_json(text: str) -> Any:
    """What the text says. Raises ValueError."""
    try:
        return json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_constant, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        values = {"line": error.lineno, "column": error.colno, "problem": error.msg}
        problem = gettext("line %(line)d, column %(column)d: this is not JSON: %(problem)s.") % values
        raise ValueError(problem) from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(gettext("%r occurs twice in one place: keep one of them.") % key[:64])
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(gettext("%s is no number of JSON: write a whole number.") % name)


def _whole_number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python reads some thousand digits
        problem = gettext("%(begin)s... is a number of %(digits)d digits: write a smaller one.")
        raise ValueError(problem % {"begin": digits[:20], "digits": len(digits.lstrip("-"))}) from None
