"""What these tests share with the limiter's."""

from tests.limiter.conftest import never_expiring

__all__ = ["never_expiring"]
