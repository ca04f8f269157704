"""The page of backtests in the admin: what is sent to it, and what its buttons offer."""

import re
from html import unescape
from typing import Any

from django.test import Client
from django.urls import reverse

from tests.support.log_files import log_file

PAGE = reverse("admin:ratewindow_backtest")
RATES = {"rates": "2/m", "path": "/login/"}


def sent(page: Client, lines: Any = (), **fields: Any) -> Any:
    log = fields.pop("log", None) or log_file(lines)
    response = page.post(PAGE, {**RATES, "log": log, **fields})
    assert response.status_code == 200
    return response


def offered(response: Any) -> dict[str, str]:
    """What the buttons send."""
    [form] = re.findall(r'<form method="get"[^>]*class="rw-backtest-use">(.*?)</form>', response.content.decode(), re.DOTALL)
    return {name: unescape(value) for name, value in re.findall(r'<input [^>]*name="([^"]+)"[^>]* value="([^"]*)"', form)}
