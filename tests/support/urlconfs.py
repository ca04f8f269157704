"""A URLconf for one test."""

from types import ModuleType
from typing import Any

from django.test import override_settings


def site(*patterns: Any) -> Any:
    """While it is entered, the site has these routes."""
    module = ModuleType("urls_of_test")
    module.urlpatterns = list(patterns)  # type: ignore[attr-defined]
    return override_settings(ROOT_URLCONF=module)
