"""A process that has counted nothing yet, and a moment at which all these tests happen."""

from tests.support.nothing_counted import nothing_counted

__all__ = ["nothing_counted"]
