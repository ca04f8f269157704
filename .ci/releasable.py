"""``python .ci/releasable.py v1.2.3``: says what still keeps this checkout from being published under that tag."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PLACEHOLDER = ".example"  # a name that nobody can own


def reasons(checkout: Path, tag: str) -> Iterator[str]:
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    version = project["version"]
    for name, address in project["urls"].items():
        if PLACEHOLDER in address:
            yield f"[project.urls] of pyproject.toml: {name} is still {address}: set the project's own address"
    if PLACEHOLDER in (checkout / ".github" / "CODEOWNERS").read_text("utf-8"):
        yield ".github/CODEOWNERS: nobody is named yet: write who reviews changes"
    if tag != f"v{version}":
        yield f"the tag {tag} is not that of version {version} of pyproject.toml: v{version}"
    if not re.search(rf"^## \[{re.escape(version)}\]", (checkout / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        yield f"CHANGELOG.md has no section ## [{version}]"


if __name__ == "__main__":
    sys.exit("\n".join(reasons(CHECKOUT, sys.argv[1])) or None)
