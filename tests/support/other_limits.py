"""What a package limits on the site of `other_limits_urls`, as definitions of rules by name."""

from typing import Any

from django.test import override_settings

from ratewindow.contrib.moving.importers.limits import Definition, Translated, translated

SITE = "tests.support.other_limits_urls"


def found_by(package: Any, **settings: Any) -> tuple[dict[str, Definition], Translated]:
    with override_settings(ROOT_URLCONF=SITE, **settings):
        found = translated(package.find())
        return {rule.name: rule for rule in found.rules}, found


def rule(name: str, place: tuple[str, str], key: str, rate: str, **fields: Any) -> Definition:
    return Definition(name, rate, {"mode": "shadow", place[0]: place[1], "key": key, **fields})
