"""What a channel set to "signal" sends, in the place of a mail: for a site that sends alerts by code of its own."""

from django.dispatch import Signal

alert = Signal()
"""Alerts that are new or over: sender `AlertChannel`, with `channel`, `at`, `test`, `text`, `raised` and `over` as a webhook has
them. What a receiver raises is the channel's error, and the next run tries again."""
