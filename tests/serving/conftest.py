"""Real servers for these tests."""

from tests.serving.fixtures import served, served_place, site_database

__all__ = ["served", "served_place", "site_database"]
