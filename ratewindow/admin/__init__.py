"""The pages of the admin."""

from ratewindow.admin import overrides, report, rules  # noqa: F401  importing registers them
