from typing import Any

import pytest

from ratewindow.rulebook import edits, reading


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time that the rows are read, in whatever thread."""
    seen: list[str] = []
    read = reading.read_rules

    def counting() -> Any:
        seen.append("read")
        return read()

    monkeypatch.setattr(reading, "read_rules", counting)
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    return seen
