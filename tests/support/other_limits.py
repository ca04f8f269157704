"""What a package limits on the site of `other_limits_urls`, as rules by name."""

from typing import Any

from django.test import override_settings

from ratewindow.operations.documents.parsing import parse_rule
from ratewindow.operations.documents.values import Values, of_rule
from ratewindow.operations.other_limiters.found import Translated, translated

SITE = "tests.support.other_limits_urls"


def found_by(package: Any, **settings: Any) -> tuple[dict[str, Values], Translated]:
    with override_settings(ROOT_URLCONF=SITE, **settings):
        found = translated(package.find())
        return {rule["name"]: of_rule(*parse_rule(rule)) for rule in found.rules}, found


def rule(name: str, place: tuple[str, str], key: str, limit: int, period: str, algorithm: str, **fields: Any) -> Values:
    values: Values = {"name": name, "mode": "shadow", "applies_to": place[0], "pattern": place[1], "key": key, **fields}
    return {**values, "limits": [{"limit": limit, "period": period, "algorithm": algorithm}]}
