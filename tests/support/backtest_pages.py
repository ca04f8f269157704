"""The page of backtests in the admin: what is sent to it, and what its button offers."""

import re
from typing import Any

from django.test import Client
from django.urls import reverse

from tests.support.log_files import log_file

PAGE = reverse("admin:ratewindow_backtest")
MAKE = reverse("admin:ratewindow_backtest_make")
RATES = {"decides": "rates", "rates": "2/m", "applies_to": "path", "pattern": "/login/", "key": "ip"}


def sent(page: Client, lines: Any = (), **fields: Any) -> Any:
    log = fields.pop("log", None) or log_file(lines)
    response = page.post(PAGE, {**RATES, "log": log, **fields})
    assert response.status_code == 200
    return response


def offered(response: Any) -> dict[str, Any]:
    """What the button sends."""
    text = response.content.decode()
    [token] = re.findall(r'name="token" value="([^"]+)"', text)
    return {"token": token, "rates": re.findall(r'<input type="text" name="rates" id="rw-make[^>]* value="([^"]+)"', text)}


def beside(response: Any) -> tuple[str, dict[str, Any]]:
    """Where the button "Try beside the live rule" sends to, and what, without the limits."""
    text = response.content.decode()
    [address] = re.findall(r'name="do" value="try" formaction="([^"]+)"', text)
    [seen] = re.findall(r'name="seen" value="([^"]*)"', text)
    return address, {"do": "try", "seen": seen, "token": offered(response)["token"]}
