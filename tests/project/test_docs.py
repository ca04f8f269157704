"""The documents for readers: what they link to is there."""

import ast
import re
from pathlib import Path

import pytest

from ratewindow import conf
from ratewindow.conf import in_words
from ratewindow.management.commands.ratewindow import subcommands
from ratewindow.models import RateRule

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    str(path.relative_to(CHECKOUT))
    for place in ("*.md", "docs/**/*.md", "lua/*.md", "ratewindow/**/*.md")
    for path in CHECKOUT.glob(place)
)


def without_code(text: str) -> str:
    """The prose: what stands in a block of code, or between backticks, is no link and no heading."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE))


def links(document: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", without_code(document.read_text()))


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub and others make them."""
    blocks_out = re.sub(r"^( *)```.*?^\1```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", blocks_out, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead(name: str) -> list[str]:
    document = CHECKOUT / name
    found = []
    for link in links(document):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = document.parent / place if place else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_document_links_to_is_there(name: str) -> None:
    assert dead(name) == []


def test_a_link_to_nothing_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `two`, three\n[a](page.md#one-two-three) [b](#four) [c](no.md) [d](https://e.org/no) `[e](no.md)`\n")
    assert dead(str(page)) == ["#four", "no.md"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_files_that_a_document_names_are_there(name: str) -> None:
    text = (CHECKOUT / name).read_text()
    named = re.findall(r"`((?:tests|lua|docs|benchmarks|testproject|ratewindow)/[\w./-]+)`", text)
    places = CHECKOUT, CHECKOUT / "ratewindow" / "templates"
    assert not [path for path in named if not any((place / path).exists() for place in places)]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_are_python_and_import_what_there_is(name: str) -> None:
    for indent, block in re.findall(
        r"^( *)```python\n(.*?)^\1```$", (CHECKOUT / name).read_text(), flags=re.DOTALL | re.MULTILINE
    ):
        tree = ast.parse(re.sub(rf"^{indent}", "", block, flags=re.MULTILINE))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ratewindow":
                exec(compile(ast.Module([node], []), name, "exec"), {})


def test_what_messages_say_to_read_is_there() -> None:
    """Checks, help texts and comments name pages as ``docs/developers/checks.md#w001``."""
    texts = [re.sub(r"page\(.([\w/]+\.md).\)", r"docs/\1", path.read_text()) for path in (CHECKOUT / "ratewindow").rglob("*.py")]
    named = {each for text in texts for each in re.findall(r"(docs/[\w/]+\.md)(?:#([\w-]+))?", text)}
    assert named
    for place, anchor in named:
        assert (CHECKOUT / place).exists(), place
        assert not anchor or anchor in anchors(CHECKOUT / place), f"{place}#{anchor}"


def test_an_installed_package_names_the_page_that_came_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert in_words.page("developers/checks.md") == "docs/developers/checks.md"
    installed = tmp_path / "docs" / "developers" / "checks.md"
    installed.parent.mkdir(parents=True)
    installed.touch()
    monkeypatch.setattr(in_words, "__file__", str(tmp_path / "conf" / "in_words.py"))
    assert in_words.page("developers/checks.md") == str(installed)


def words(name: str) -> str:
    return (CHECKOUT / "docs" / name).read_text()


def test_every_setting_is_explained() -> None:
    missing = [key for key in conf._READERS if f"`{key}`" not in words("developers/settings.md")]
    assert not missing


def test_every_command_is_explained() -> None:
    names = [subcommand.NAME for subcommand in subcommands()]
    assert names
    assert not [name for name in names if not re.search(rf"`{name}\b", words("operators/commands.md"))]


def test_every_field_of_a_rule_is_explained() -> None:
    """By the word that its form has for it, or its own name."""
    explained = " ".join(re.findall(r"^\| ([^`|]+?) \|", words("staff/rules.md"), flags=re.MULTILINE)).lower()
    fields = [
        field
        for field in RateRule._meta.get_fields()
        if field.concrete and field.editable and field.name not in ("id", "description", "pattern")
    ]
    assert not [field.name for field in fields if str(field.verbose_name).lower() not in explained]
