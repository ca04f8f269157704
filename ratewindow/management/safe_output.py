"""Standard output on which the names, reasons and addresses that others wrote cannot control the terminal."""

from typing import Any

from ratewindow.conf.in_escapes import in_escapes

_CLEAR = "\x1b[H\x1b[2J"  # of a terminal: to the top, and erase


class SafeOutput:
    """Django's output of a command, whose `write` escapes; all else is as there."""

    def __init__(self, output: Any) -> None:
        self._output = output

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)

    def write(self, text: str = "", *args: Any, **options: Any) -> None:
        self._output.write(in_escapes(text), *args, **options)

    def clear(self) -> None:
        """Empty the screen of a terminal."""
        if self._output.isatty():
            self._output.write(_CLEAR, ending="")
