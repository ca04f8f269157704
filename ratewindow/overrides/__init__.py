"""Blocks, exemptions and other rates for somebody: whom they are about, finding them, and what they make of the rules."""

from ratewindow.overrides.lookup import ACTIONS, ALLOW, BLOCK, RATE, Overrides, Ruling

__all__ = ["ACTIONS", "ALLOW", "BLOCK", "RATE", "Overrides", "Ruling"]
