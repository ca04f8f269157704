"""The forty cases, in the order of the table."""

import importlib

from conformance.cases.case import Case

_GROUPS = ("above", "costs", "answers", "addresses", "store", "awaited", "throttles", "edits", "logins", "inputs", "memory")

CASES: tuple[Case, ...] = tuple(case for group in _GROUPS for case in importlib.import_module(f"conformance.cases.{group}").CASES)
