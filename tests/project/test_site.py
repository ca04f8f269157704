"""``make docs``: the site is built without a warning, and each link, anchor and picture of its pages leads somewhere."""

import json
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.message_pages import pages_of_messages

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
URLS = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["urls"]
MADE_BY_SPHINX = {"genindex.html", "search.html"}

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """What a page can be linked to by, and what it links to or shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.links = {""}, set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif name in ("href", "src", "data"):
                self.links.add(value or "")


class Site:
    def __init__(self, folder: Path, said: str) -> None:
        self.folder, self.said = folder, said
        self.pages = {str(path.relative_to(folder)): Page(path.read_text()) for path in folder.rglob("*.html")}

    def leads(self, name: str, link: str) -> bool:
        """Whether a link of a page leads to a file of the site, and an anchor that it has."""
        parts = urlsplit(link)
        target = (self.folder / name).parent / unquote(parts.path) if parts.path else self.folder / name
        if not target.is_file():
            return False
        page = self.pages.get(str(target.resolve().relative_to(self.folder)))
        return page is None or unquote(parts.fragment) in page.anchors


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site").resolve()
    made = subprocess.run(
        [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-d", folder / "doctrees", DOCS, folder / "html"],
        capture_output=True,
        text=True,
    )
    assert made.stderr == "" and made.returncode == 0
    return Site(folder / "html", made.stdout)


def test_each_link_within_the_site_leads_somewhere(site: Site) -> None:
    within = [(name, link) for name, page in site.pages.items() for link in page.links if not urlsplit(link).scheme]
    assert len(within) > 1000
    assert [each for each in within if not site.leads(*each)] == []


def test_a_link_to_nothing_would_be_seen(site: Site) -> None:
    links = ["../index.html", "checks.html#w001", "#e001", "no.html", "checks.html#w999", "#e999"]
    assert [site.leads("developers/checks.html", link) for link in links] == [True, True, True, False, False, False]


def test_each_link_elsewhere_has_the_form_of_one(site: Site) -> None:
    elsewhere = {link for page in site.pages.values() for link in page.links if urlsplit(link).scheme}
    assert [link for link in elsewhere if not re.fullmatch(r"https?://[\w.:-]+(/\S*)?|data:image/\S+", link)] == []


def test_a_link_that_leaves_the_folder_leads_to_the_source(site: Site) -> None:
    to_source = {link for page in site.pages.values() for link in page.links if link.startswith(f"{URLS['Source']}/blob/main/")}
    places = {urlsplit(link.removeprefix(f"{URLS['Source']}/blob/main/")).path for link in to_source}
    assert "CHANGELOG.md" in places
    assert [place for place in places if not (CHECKOUT / place).exists()] == []


def test_the_pages_that_messages_name_are_on_the_site(site: Site) -> None:
    for place, anchor in pages_of_messages():
        assert site.leads("index.html", f"{place.replace('.md', '.html')}#{anchor}"), (place, anchor)


def test_a_page_knows_its_address(site: Site) -> None:
    assert f"{URLS['Documentation']}/developers/checks.html" in site.pages["developers/checks.html"].links


def test_pictures_are_at_an_address_that_stays(site: Site) -> None:
    """By which the README names them."""
    assert {path.name for path in (DOCS / "pictures").iterdir()} == {path.name for path in (site.folder / "pictures").iterdir()}


def test_what_the_code_knows_is_on_the_pages(site: Site) -> None:
    known = {
        "developers/settings.html": "not a whole number from 1 to 128",
        "developers/checks.html": "ratewindow.W014",
        "contrib/logins.html": "LoginGate is not in AUTHENTICATION_BACKENDS",
        "operators/commands.html": "manage.py ratewindow subject [--erase] IDENTITY",
        "contrib/metrics.html": "histogram",
        "staff/README.html": "ratewindow.enforce_raterule",
    }
    for name, text in known.items():
        assert text in re.sub("<[^>]+>", "", (site.folder / name).read_text()), name


def test_it_is_arranged_by_what_a_reader_wants(site: Site) -> None:
    index = (site.folder / "index.html").read_text()
    captions = re.findall(r'class="caption-text">([^<]+)<', index)
    assert captions == ["Tutorial", "How-to guides", "Reference", "Explanation", "Project"]


def test_all_pages_can_be_searched_and_their_words_are_counted(site: Site) -> None:
    index = json.loads((site.folder / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    assert {f"{name}.html" for name in index["docnames"]} == site.pages.keys() - MADE_BY_SPHINX
    counted = re.search(r"^(\d+) pages, ([\d,]+) words$", site.said, re.MULTILINE)
    assert counted and int(counted[1]) == len(index["docnames"])
    assert int(counted[2].replace(",", "")) > sum(len(path.read_text().split()) for path in DOCS.rglob("*.md")) * 0.9
