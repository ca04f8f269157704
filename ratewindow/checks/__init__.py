"""System checks: what is wrong with settings, code and rules, said before a request meets it.

Those of `rows` and `server` read rows and Redis, and run where databases are checked; the others touch neither.
"""

from ratewindow.checks import code, replaced_libraries, rows, server, settings  # noqa: F401  they register themselves
from ratewindow.checks.messages import TAG

__all__ = ["TAG"]
