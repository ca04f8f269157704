"""Logins that are tried at Django's own page, by strangers and from known devices; and the names whose passwords were checked."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.test import AsyncClient, Client

PASSWORD = "right"
checked_names: list[str] = []


class Noting(ModelBackend):
    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        if password is not None:
            checked_names.append(username or next(iter(others.values()), ""))
        return super().authenticate(request, username=username, password=password, **others)


BACKENDS = ["ratewindow.contrib.logins.LoginGate", f"{__name__}.Noting"]


def login(name: str, password: str, address: str = "203.0.113.9", browser: Client | None = None) -> Any:
    """The answer; to a stranger, unless there is a browser."""
    return (browser or Client()).post("/login/", {"username": name, "password": password}, REMOTE_ADDR=address)


async def alogin(name: str, password: str, address: str = "203.0.113.9", browser: AsyncClient | None = None) -> Any:
    extra: Any = {"REMOTE_ADDR": address}
    return await (browser or AsyncClient()).post("/login/", {"username": name, "password": password}, **extra)


def stranger(number: int) -> str:
    """An address, each of another network."""
    return f"198.{18 + number // 250}.{number % 250}.7"


def spend(name: str = "ann", password: str = PASSWORD) -> None:
    """Use up what strangers may try."""
    for number in range(6):
        login(name, "x", stranger(number))
    assert login(name, password, stranger(99)).status_code == 429


def device(name: str = "ann", password: str = PASSWORD) -> Client:
    """A browser on which somebody has logged in, and out."""
    browser = Client()
    assert login(name, password, "192.0.2.1", browser).status_code == 302
    del browser.cookies["sessionid"]
    return browser
