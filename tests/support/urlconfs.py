"""A URLconf for one test."""

from types import ModuleType
from typing import Any

from django.test import override_settings


def site(*patterns: Any, **handlers: Any) -> Any:
    """While it is entered, the site has these routes, and handlers such as ``handler429``."""
    module = ModuleType("urls_of_test")
    vars(module).update(urlpatterns=list(patterns), **handlers)
    return override_settings(ROOT_URLCONF=module)
