"""Test helpers for sites: rules for one test, fresh counts for each test, and a clock that can be moved."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratewindow.testing.counts import FreshCountsRunner, Rule, fresh_counts, override_rules

__all__ = ["FreshCountsRunner", "Rule", "fresh_counts", "override_rules"]

if not TYPE_CHECKING:  # which would believe that there is any name at all

    def __getattr__(name: str) -> Any:
        """Imported on first use: pytest loads the plugin beside it before Django has its settings."""
        if name in __all__:
            return getattr(import_module("ratewindow.testing.counts"), name)
        raise AttributeError(f"module 'ratewindow.testing' has no attribute {name!r}")
