"""Text by others as a terminal may print it, and as it may stand in a file that is shown on one."""

import json
import logging

_HARMLESS = frozenset("\n\t\u00a0\u202f\u200c\u200d")  # blanks, and what joins letters


def in_escapes(text: str) -> str:
    """The text with ``\\u001b`` for what would move the cursor, recolour it, or turn round what follows. In the strings of
    JSON this means the same, and in YAML in double quotes, but for what is beyond ``\\uffff``: `yaml_text` escapes that."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in _HARMLESS else json.dumps(each)[1:-1] for each in text)


def escape_values(record: logging.LogRecord) -> bool:
    """A filter of a logger: the names, reasons and answers of servers that others wrote stay in the line of their message."""
    if isinstance(record.args, tuple):
        record.args = tuple(map(_in_one_line, record.args))
    return True


def _in_one_line(value: object) -> object:
    text = str(value) if isinstance(value, str | BaseException) else ""
    return value if text.isprintable() else in_escapes(text).replace("\n", "\\n")
