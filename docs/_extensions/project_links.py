"""The side bar ends with the addresses of the project, such as its source and its changelog, as pyproject.toml has them."""

from typing import Any

OWN = ("Homepage", "Documentation")  # where the reader is


def add_links(app: Any, name: str, source: list[str]) -> None:
    if name == app.config.root_doc:
        links = "\n".join(f"{kind} <{address}>" for kind, address in app.config.project_urls.items() if kind not in OWN)
        source[0] += f"\n```{{toctree}}\n:caption: Project\n:hidden:\n\n{links}\n```\n"


def setup(app: Any) -> None:
    app.connect("source-read", add_links)
