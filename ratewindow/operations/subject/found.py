"""What is stored about a client in one place."""

from datetime import datetime
from typing import NamedTuple


class Found(NamedTuple):
    """`number` rows, keys or entries; `since` and `until` are the first and the last moment that they are about."""

    where: str
    number: int
    since: datetime | None = None
    until: datetime | None = None
    says: str = ""
