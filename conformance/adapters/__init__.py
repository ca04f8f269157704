"""The adapters: one file for each limiter, in the order of the table's columns."""

import importlib

from conformance.adapter import Adapter

NAMES = ("ratewindow", "django_ratelimit", "rest_framework", "smart_ratelimit", "axes", "allauth", "modern_rest")


def find(name: str) -> Adapter:
    adapter: Adapter = importlib.import_module(f"conformance.adapters.{name}").ADAPTER
    return adapter
