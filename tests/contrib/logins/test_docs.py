"""The documents advise the ready rules, and no others."""

import re
from pathlib import Path

from ratewindow.contrib.logins.ready import KINDS

DOCS = Path(__file__).resolve().parents[3] / "docs"


def ready() -> set[tuple[str, ...]]:
    """Name, what it applies to, key and limits."""
    found = set()
    for kind in KINDS:
        [target] = kind.find(())
        for part in kind.parts:
            name = f"{kind.name}.{part.name}" if part.name else kind.name
            found.add((name, part.fields.get("applies_to", target.applies_to), part.key, part.rate))
    return found


def test_the_page_about_logins_lists_them() -> None:
    page = (DOCS / "contrib" / "logins.md").read_text()
    rows = re.findall(r"^\| `([\w.-]+)` \| `(\w+)` \| `([\w:]+)` \| ([\d/; mhdw]+) \|", page, re.MULTILINE)
    assert set(rows) == ready()


def test_the_page_about_security_has_their_limits() -> None:
    page = (DOCS / "security.md").read_text()
    for part in KINDS[0].parts:
        assert f"({part.rate})" in page, part.name
