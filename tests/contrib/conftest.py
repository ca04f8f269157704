"""Staff, logged in."""

from tests.admin.conftest import boss, page, viewer

__all__ = ["boss", "page", "viewer"]
