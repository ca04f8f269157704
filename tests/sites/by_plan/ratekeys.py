"""What the sites tell ratewindow about their customers."""

from typing import Any

from django.http import HttpRequest

import ratewindow
from tests.sites.by_plan.models import Membership, Org, Person, Token

TIERS = {"free": None, "tier 1": "3/h", "tier 2": "5/h; 8/d", "tier 3": "9/h"}


@ratewindow.limits("membership tier", cache="1m")
def tier_of(identity: str) -> Any:
    found = Membership.objects.filter(pk=int(identity.removeprefix("user:"))).first()
    return None if found is None else TIERS[found.tier]


@ratewindow.ratekey("org")
def org(request: HttpRequest) -> str | None:
    return request.headers.get("x-org")


@ratewindow.limits("org api_rates")
def rates_of(request: HttpRequest) -> Any:
    """Of the scope of this endpoint; the organisation is known by its request."""
    found = Org.objects.filter(pk=request.headers["x-org"]).first()
    return found and found.api_rates.get("v2.contacts")


@ratewindow.limits("token allowed_rate_limit", cache="5m")
def allowed_rate_limit(identity: str) -> str | None:
    found = Token.objects.filter(pk=identity.removeprefix("header:x-api-key:")).first()
    return (found and found.allowed_rate_limit) or None


@ratewindow.limits("user rate_limits")
def rate_limits(request: HttpRequest) -> list[tuple[int, int]] | None:
    found = Person.objects.filter(pk=request.user.pk).first()
    pairs = [each.split(":") for each in found.rate_limits.split(",")] if found and found.rate_limits else []
    return [(int(limit), int(seconds)) for seconds, limit in pairs] or None
