"""The admin of the app: rules, blocks and exemptions, report, state, switch."""

from django.apps import apps

if apps.is_installed("django.contrib.admin"):  # commands also word what they print by modules of this package
    from ratewindow.admin import overrides, report, rules  # noqa: F401  imported to register them
