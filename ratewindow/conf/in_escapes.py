"""Text by others as a terminal may print it, and as it may stand in a file that is shown on one."""

import logging

_HARMLESS = frozenset("\n\t\u00a0\u202f\u200c\u200d")  # blanks, and what joins letters


def in_escapes(text: str) -> str:
    """The text with ``\\u001b`` for what would move the cursor, recolour it, or turn round what follows. In the strings of
    JSON, and of YAML in double quotes, this means the same."""
    if text.isprintable():
        return text
    return "".join(each if _is_shown(each) else f"\\u{ord(each):04x}" for each in text)


def escape_values(record: logging.LogRecord) -> bool:
    """A filter of a logger: the names, reasons and answers of servers that others wrote stay in the line of their message."""
    if isinstance(record.args, tuple):
        record.args = tuple(map(_in_one_line, record.args))
    return True


def _in_one_line(value: object) -> object:
    text = str(value) if isinstance(value, str | BaseException) else ""
    return value if text.isprintable() else in_escapes(text).replace("\n", "\\n")


def _is_shown(letter: str) -> bool:
    return letter.isprintable() or letter in _HARMLESS or letter > "\uffff"
