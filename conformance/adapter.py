"""What a limiter's adapter says: what to install, how to set it up, and how its own documentation would limit a view."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

View = Callable[..., Any]

# What a case may need of a limiter. An adapter that lacks one says why in `without`.
CAPABILITIES = {
    "views": "limits any view",
    "async": "limits async views",
    "drf": "is a throttle of Django REST framework",
    "proxy": "is told which proxy to believe",
    "open": "lets requests pass while the store is down, if told to",
    "closed": "refuses requests while the store is down, if told to",
    "rate": "takes rates as text",
    "header": "limits by a header",
    "edits": "has limits that are edited on a running site",
    "logins": "limits logins",
}


@dataclass(frozen=True)
class Limit:
    """So many requests in so many seconds, of one client address or of one value of a header."""

    requests: int
    period_s: int
    header: str = ""


@dataclass(frozen=True)
class Where:
    """The site that an adapter writes settings for."""

    kind: str  # one of `conformance.running.KINDS`
    redis_url: str
    folder: Path


class Adapter:
    """A limiter; each subclass overrides what its limiter has.

    The module must be importable without Django and without the limiter: import both inside of the methods.
    """

    title = ""
    distribution = ""  # whose version is shown
    requirements: tuple[str, ...] = ()
    configuration = ""  # how it was set up, in words for whoever reads the table
    without: dict[str, str] = {}  # capability: why the cases that need it do not apply

    login_path = "/login/"
    login_field = "username"

    def settings(self, where: Where) -> dict[str, Any]:
        """Django settings; lists such as INSTALLED_APPS are added to those of the site, MIDDLEWARE at the end."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Fill the database, once, after `migrate`."""

    def limit(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        """The view behind these limits, all of which apply; `name` is one that no other view has."""
        raise NotImplementedError

    def limit_async(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        """The same for an async view."""
        return self.limit(view, name, limits)

    def throttles(self, name: str, limit: Limit) -> list[Any]:
        """The `throttle_classes` of a view of Django REST framework."""
        raise NotImplementedError

    def rate(self, view: View, text: str) -> View:
        """The view behind the rate that somebody has typed. An error is an answer, too."""
        raise NotImplementedError

    def edited(self, view: View) -> View:
        """The view behind a limit of five in a minute, which `edit` changes."""
        return view

    def edit(self, requests: int) -> None:
        """Change that limit, as the page of the admin would."""
        raise NotImplementedError

    def guard(self, view: View) -> View:
        """A page that takes `username` and `password`, guarded in the way that the documentation has for logins."""
        return view

    def urls(self) -> list[Any]:
        """Further URL patterns."""
        return []
