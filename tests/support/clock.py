"""Milliseconds that stand still until they are moved."""

START_MS = 1_732_094_855_123


class Clock:
    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms
