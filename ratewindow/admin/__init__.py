"""The admin of the app: rules, blocks and exemptions, report, state, switch, history."""

from ratewindow.admin import history, overrides, report, rules  # noqa: F401  imported to register them
