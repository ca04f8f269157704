"""Sites and rules that tests of blocks, exemptions and other rates ask."""

from typing import Any

from ratewindow.models import RateRule
from tests.support.doors import behind_middleware, plain, statuses

ME, OTHER = "203.0.113.9", "198.51.100.1"


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, mode=mode, overwrite=True, **fields)[0]


def from_me(site: Any, count: int, path: str = "/", **extra: Any) -> list[int]:
    return statuses(site, count, path, REMOTE_ADDR=ME, **extra)


def site(is_async: bool = False) -> Any:
    return behind_middleware(plain(is_async))
