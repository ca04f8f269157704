"""The admin of the app: rules, blocks and exemptions, report, state, switch, history, alerts."""

from ratewindow.admin import alerts, overrides, report, rules  # noqa: F401  imported to register them
from ratewindow.admin.history import edit_admin  # noqa: F401
