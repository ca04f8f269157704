"""Blocks and exemptions in the admin: their list, their form, and the page that releases a client."""

from ratewindow.admin.overrides.override_admin import OverrideAdmin

__all__ = ["OverrideAdmin"]
