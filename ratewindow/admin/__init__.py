"""The pages of the admin."""

from ratewindow.admin import report, rules  # noqa: F401  importing registers them
