"""The staff of the admin's own tests."""

from tests.admin.conftest import boss, page, viewer

__all__ = ["boss", "page", "viewer"]
