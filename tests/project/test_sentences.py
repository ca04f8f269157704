"""Each fact has one page: no sentence of twelve words or more stands twice in the documents."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.support.blocks import CHECKOUT, PAGES, without_blocks

LEAST_WORDS = 12
_PARTS = re.compile(r"\n\s*\n|\n\s*(?=[-*] |\d+\. |#|\|)|(?<!\\)\|")  # paragraphs, items of lists, headings, cells of tables
# What a measurement ran on, which each page of them says; what a limiter did in a case, which another may do, too.
_MEASURED = re.compile(r"\w+ on x86_64, .*|^\* `[a-z-]+\.[a-z0-9-]+`: .*", re.MULTILINE)


def sentences(text: str) -> Iterator[str]:
    """Its sentences without links, emphasis and signs, in small letters."""
    prose = re.sub(r"<!--.*?-->", "", _MEASURED.sub("", without_blocks(text)), flags=re.DOTALL)
    for part in _PARTS.split(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", prose)):
        for sentence in re.split(r"[.?!](?=\W*\s|\W*$)", part):
            yield " ".join(re.findall(r"[\w.-]*\w", re.sub("[*`]", "", sentence.lower())))


def doubles(pages: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The long sentences that stand more than once, with their pages."""
    found = defaultdict(list)
    for page, text in pages:
        for sentence in sentences(text):
            if len(sentence.split()) >= LEAST_WORDS:
                found[sentence].append(page)
    return {sentence: places for sentence, places in found.items() if len(places) > 1}


def test_no_long_sentence_stands_twice() -> None:
    found = doubles((page, (CHECKOUT / page).read_text()) for page in PAGES)
    assert not found, "leave each where a reader looks for it, and link to it from the others"


def test_a_double_is_seen_through_its_dress() -> None:
    said = "A limit of [five](a.md) by the `minute` admits **at most** five, at any time, to a client. And no more."
    again = "| a | A limit of five by the minute admits\nat most five, at any time, to a [client](b.md) |"
    assert doubles([("a.md", said), ("b.md", again)]) == {
        "a limit of five by the minute admits at most five at any time to a client": ["a.md", "b.md"]
    }
    assert not doubles([("a.md", said), ("b.md", f"```text\n{said}\n```\n")])
