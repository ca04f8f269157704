"""Overrides, that is blocks, exemptions and other rates for some clients: parsing whom they name, and finding a request's."""
