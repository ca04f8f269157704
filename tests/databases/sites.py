"""A site that tests make, on a database of any kind."""

import os

from tests.support import programs


class Site:
    """A site whose programs use a database and the run's Redis."""

    def __init__(self, database: str, redis_url: str) -> None:
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "testproject.settings",
            "RATEWINDOW_REDIS_URL": redis_url,
            "TESTPROJECT_DATABASE": database,
        }

    def run(self, program: str, **environment: str) -> str:
        return programs.run(program, {**self.environment, **environment})
