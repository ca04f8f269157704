"""What these tests share with the limiter's."""

from tests.support.stores import never_expiring

__all__ = ["never_expiring"]
