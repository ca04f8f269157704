"""Publishes docs/pictures under its own name, too: the README names pictures by their address on the site."""

from pathlib import Path
from shutil import copytree
from typing import Any


def publish(app: Any, error: Exception | None) -> None:
    if error is None:
        copytree(app.srcdir / "pictures", Path(app.outdir) / "pictures", dirs_exist_ok=True)


def setup(app: Any) -> None:
    app.connect("build-finished", publish)
