"""README.md as the description of the package: relative links become addresses of `[project.urls]`, as an index has no files."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"(?<=\]\()(?![\w+.-]+:|#)([^)\s#]+)")


class Description(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        addresses, tag = metadata["urls"], f"v{metadata['version']}"
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": RELATIVE_LINK.sub(lambda link: address(link[1], addresses, tag), text),
        }


def address(path: str, addresses: dict[str, str], tag: str) -> str:
    """A page or a picture is on the site of the documentation; any other file in the sources, as the version has it."""
    if path == "docs/README.md":
        return f"{addresses['Documentation']}/index.html"
    if path.startswith("docs/"):
        return f"{addresses['Documentation']}/{re.sub(r'[.]md$', '.html', path.removeprefix('docs/'))}"
    return f"{addresses['Source']}/blob/{tag}/{path}"
