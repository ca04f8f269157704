"""The pages that export and import in the admin: their addresses, and what a browser sends to them."""

import html
import re
from typing import Any

from django.test import Client
from django.urls import reverse

from ratewindow.operations.documents import text
from ratewindow.operations.documents.site import Document

EXPORT, IMPORT = reverse("admin:ratewindow_raterule_export"), reverse("admin:ratewindow_raterule_import")


def written(content: Document) -> str:
    return text.to_bytes(content, text.YAML).decode()


def hidden(response: Any) -> str:
    """The signed document that the preview sends back."""
    (found,) = re.findall(r'name="document" value="([^"]+)"', response.content.decode())
    return html.unescape(found)


def confirm(page: Client, response: Any, **fields: str) -> Any:
    return page.post(IMPORT, {"document": hidden(response), **fields}, follow=True)
