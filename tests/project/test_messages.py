"""Every text of the admin can be translated: no template and no module has one outside gettext."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "ratewindow"
TEMPLATES = sorted((PACKAGE / "templates").rglob("*.html"))
MODULES = sorted((PACKAGE / "admin").rglob("*.py"))
TRANSLATING = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}
STAY = {  # texts of modules that look like words and are none that anybody reads, or stay in English, with the reason
    r"^Switched |^Released|^Restored: |^Imported\.$|^Limits to try$": "in the log of Django's admin, which has one text for all",
    r"^A release cannot be taken back|^There is no state ": "Http404, whose text only developers see",
    r"^manage\.py |^MIDDLEWARE \+= ": "code to type",
    r"^(key!=)?(ip|path) [a-z_ ]+$": "values of fields, for scripts",
}


def texts_of_template(path: Path) -> Iterator[str]:
    others = r"\{#.*?#\}|\{% blocktranslate.*?endblocktranslate %\}|<code>.*?</code>|<style>.*?</style>"
    text = re.sub(others, "", path.read_text("utf-8"), flags=re.S)
    text = re.sub(r"\{% block bodyclass %\}.*?\{% endblock %\}", "", text)
    text = re.sub(r"\{[%{].*?[%}]\}", "", text, flags=re.S)
    yield from re.findall(r'(?:aria-label|title|placeholder|data-label|data-unknown)="([^"]*)"', text)
    yield from re.findall(r'<input type="submit"[^>]* value="([^"]*)"', text)
    yield from re.split(r"<[^>]*>", text)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(PACKAGE / "templates").as_posix())
def test_no_template_has_words_outside_gettext(path: Path) -> None:
    left = [text.strip() for text in texts_of_template(path) if re.search(r"[A-Za-z]{2}", re.sub(r"&\w+;|Redis", "", text))]
    assert left == []


def texts_of_module(path: Path) -> Iterator[str]:
    """The literals that are sentences or several words, outside gettext, docstrings and markup."""
    tree = ast.parse(path.read_text("utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or isinstance(parents[node], ast.Expr):
            continue
        calls = [each for each in _ancestors(node, parents) if isinstance(each, ast.Call)]
        if any(getattr(call.func, "id", "") in TRANSLATING for call in calls[:1]):
            continue
        words = re.sub(r"<[^>]*>", "", node.value).strip()
        if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", words):
            yield node.value


def _ancestors(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE / "admin").as_posix())
def test_no_module_of_the_admin_has_sentences_outside_gettext(path: Path) -> None:
    assert [text for text in texts_of_module(path) if not any(re.search(pattern, text) for pattern in STAY)] == []
