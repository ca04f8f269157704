"""Overrides, that is blocks, exemptions and other rates for some clients: parsing whom they name, and finding a request's."""

from ratewindow.overrides.lookup import ACTIONS, ALLOW, BLOCK, RATE, Overrides, Ruling

__all__ = ["ACTIONS", "ALLOW", "BLOCK", "RATE", "Overrides", "Ruling"]
