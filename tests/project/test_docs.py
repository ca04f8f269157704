"""The documents for readers: what they link to is there."""

import re
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

from ratewindow.conf import in_words
from tests.support.blocks import without_blocks, without_code
from tests.support.message_pages import pages_of_messages

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    str(path.relative_to(CHECKOUT))
    for place in ("*.md", "docs/**/*.md", "lua/*.md", "conformance/*.md", "ratewindow/**/*.md")
    for path in CHECKOUT.glob(place)
)


def links(document: Path) -> list[str]:
    """Of pictures, too, also those that are elements of HTML."""
    prose = without_code(document.read_text())
    addresses = re.findall(r"\]\(([^)\s]+)\)|<(?:img|source)\b[^>]*\bsrc(?:set)?=\"([^\"\s]+)", prose)
    return ["".join(each) for each in addresses]


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub and others make them."""
    headings = re.findall(r"^#+ (.*)$", without_blocks(document.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead(name: str) -> list[str]:
    return [link for link in links(CHECKOUT / name) if not leads_somewhere(link, CHECKOUT / name)]


def leads_somewhere(link: str, document: Path) -> bool:
    """Addresses elsewhere are believed, but for those of our pictures, as an index of packages shows them."""
    if re.match(r"[a-z]+:", link):
        picture = re.search(r"\bdocs/[\w/.-]+\.(?:png|svg)$", link)
        return picture is None or (CHECKOUT / picture[0]).exists()
    place, _, anchor = link.partition("#")
    target = document.parent / place if place else document
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_document_links_to_is_there(name: str) -> None:
    assert dead(name) == []


def test_a_link_to_nothing_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("""# One `two`, three
        [a](page.md#one-two-three) [b](#four) [c](no.md) [d](https://e.org/no) `[e](no.md)`
        ![f](no.png) <img alt="g" src="no.svg"> ![h](https://e.org/docs/pictures/no.png)
        ![i](https://e.org/docs/pictures/admin-report.png) [j](mailto:k@e.org)
    """)
    assert dead(str(page)) == ["#four", "no.md", "no.png", "no.svg", "https://e.org/docs/pictures/no.png"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_files_that_a_document_names_are_there(name: str) -> None:
    text = (CHECKOUT / name).read_text()
    named = re.findall(r"`((?:tests|lua|docs|benchmarks|testproject|ratewindow)/[\w./-]+)`", text)
    places = CHECKOUT, CHECKOUT / "ratewindow" / "templates"
    assert not [path for path in named if not any((place / path).exists() for place in places)]


def test_the_pages_that_messages_name_are_there() -> None:
    named = pages_of_messages()
    assert named
    for place, anchor in named:
        assert (CHECKOUT / "docs" / place).exists(), place
        assert not anchor or anchor in anchors(CHECKOUT / "docs" / place), f"{place}#{anchor}"


def test_a_message_names_its_page_on_the_site_of_the_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Message()
    installed["Project-URL"] = "Source, https://example.org/source"
    installed["Project-URL"] = "Documentation, https://example.org/docs/"
    monkeypatch.setattr(metadata, "metadata", {"ratewindow": installed}.__getitem__)
    assert in_words.page("developers/checks.md") == "https://example.org/docs/developers/checks.html"
    assert in_words.page("developers/keys.md#addresses") == "https://example.org/docs/developers/keys.html#addresses"


def test_without_an_address_of_the_site_a_message_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "metadata", lambda name: Message())
    assert in_words.page("developers/checks.md") == "docs/developers/checks.md"
    monkeypatch.setattr(metadata, "metadata", lambda name: metadata.distribution("of no such name").metadata)
    assert in_words.page("developers/checks.md") == "docs/developers/checks.md"
