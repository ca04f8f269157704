"""The entry of ``DATABASES`` for a file of SQLite, or for a server by its URL: ``mysql://root@127.0.0.1:3306/site``."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ratewindow.demo import settings as demo

SERVERS = ("mysql", "postgresql")


def database(name: str | Path) -> dict[str, Any]:
    url = urlsplit(str(name))
    return of_server(url) if url.scheme in SERVERS else of_file(name)


def of_server(url: Any) -> dict[str, Any]:
    """MariaDB is reached by the engine of MySQL."""
    place = {"HOST": url.hostname, "PORT": url.port or "", "NAME": url.path.lstrip("/")}
    return {"ENGINE": f"django.db.backends.{url.scheme}", **place, "USER": url.username or "", "PASSWORD": url.password or ""}


def of_file(name: str | Path) -> dict[str, Any]:
    return {**demo.DATABASES["default"], "NAME": name}
