"""The ids and hints of the messages."""

import re
from pathlib import Path

from django.core.checks import ERROR, WARNING

from ratewindow import checks
from ratewindow.checks.site import PAGE, error, warning
from ratewindow.conf.in_words import page


def test_a_message_has_an_id_and_a_link_to_its_explanation() -> None:
    message = error(3, "Two rates.", "Use one.")
    assert (message.level, message.id, message.hint) == (ERROR, "ratewindow.E003", f"Use one. See {page(PAGE)}#e003.")
    message = warning(12, "Old settings.", "Delete them.")
    assert (message.level, message.id, message.hint) == (WARNING, "ratewindow.W012", f"Delete them. See {page(PAGE)}#w012.")


def test_every_check_is_explained_where_its_hint_says() -> None:
    package = Path(checks.__file__).parent
    numbers = {
        f"{kind[0]}{int(number):03}"
        for module in package.glob("*.py")
        for kind, number in re.findall(r"\b(error|warning)\(\s*(\d+),", module.read_text(encoding="utf-8"))
    }
    explained = (Path(__file__).parents[2] / "docs" / PAGE).read_text(encoding="utf-8")
    assert numbers == set(re.findall(r"^### (\w+)$", explained, re.MULTILINE))
