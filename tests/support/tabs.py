"""The row of tabs, as a page of the admin shows it."""

import re
from typing import Any

from django.urls import reverse


def url(name: str, *args: Any) -> str:
    return reverse(f"admin:ratewindow_{name}", args=args)


def _links(response: Any) -> list[tuple[str, str, str]]:
    (row,) = re.findall(r'<nav class="rw-tabs".*?</nav>', response.content.decode(), re.DOTALL)
    return re.findall(r'<a href="([^"]*)"(?: aria-current="(\w+)")?[^>]*>([^<]*)</a>', row)


def tabs(response: Any) -> dict[str, str]:
    """The address of each by its name, in their order."""
    return {name: address for address, _, name in _links(response)}


def current(response: Any) -> list[str]:
    return [name for _, current, name in _links(response) if current == "page"]
