"""The admin of the app: rules, blocks and exemptions, report, state, switch."""

from ratewindow.admin import overrides, report, rules  # noqa: F401  imported to register them
