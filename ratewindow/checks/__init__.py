"""System checks: problems in settings, code and rules, reported before a request meets them.

Those of `rows` and `server` read the database and Redis, and are tagged ``database``; the others read neither.
"""

from ratewindow.checks import code, replaced_libraries, rows, server, settings  # noqa: F401  they register themselves
from ratewindow.checks.messages import TAG

__all__ = ["TAG"]
