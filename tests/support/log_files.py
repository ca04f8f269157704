"""Access logs as people upload them."""

from datetime import UTC, datetime
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

START_S = 1_790_000_000


def line(at_s: float, client: str = "203.0.113.9", path: str = "/login/", status: int = 200, agent: str = "curl/8") -> str:
    """A request of the combined format, so many seconds after the start."""
    at = datetime.fromtimestamp(START_S + at_s, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return f'{client} - - [{at}] "GET {path} HTTP/1.1" {status} 10 "-" "{agent}"'


def log_file(lines: Any = (), name: str = "access.log", content: bytes | None = None) -> SimpleUploadedFile:
    data = "\n".join([*lines, ""]).encode() if content is None else content
    return SimpleUploadedFile(name, data)


def a_day() -> list[str]:
    """A day of 300 clients with up to four requests in a minute, and of one with 40."""
    found = [
        (minute * 60 + second, f"198.51.{client // 250}.{client % 250 + 1}", 200)
        for client in range(300)
        for minute in (client, client + 700, 1_440 - 1 - client)
        for second in range(0, 10 * (1 + client % 4), 10)
    ]
    found += [(30_000 + second, "203.0.113.9", 401) for second in range(40)]
    return [line(at_s, client, status=status) for at_s, client, status in sorted(found)]


def busy_hours(hours: int, path: str) -> str:
    """Lines of JSON: in each hour 240 clients come up to six times in a minute, and one of them forty times, in vain."""
    found = [
        (START_S + hour * 3600 + client * 7 + place, client)
        for hour in range(hours)
        for client in range(240)
        for place in range(1 + (client * 7 + hour) % 6 if client else 40)
    ]
    made = '{{"time": {}, "remote_addr": "198.51.100.{}", "method": "GET", "path": "{}", "status": {}}}\n'
    return "".join(made.format(at_s, client, path, 200 if client else 404) for at_s, client in sorted(found))
