"""The fixtures of real servers, for items that are about them."""

from tests.serving.fixtures import served, served_place, site_database

__all__ = ["served", "served_place", "site_database"]
