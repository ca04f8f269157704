"""The lines of Heroku's router, in what ``heroku logs`` shows and in what a drain receives; other lines are of the site's own."""

import re

from ratewindow.operations.logs.entry import NO_HEADERS, Entry, Unreadable
from ratewindow.operations.logs.request_line import located, unescaped
from ratewindow.operations.logs.times import iso
from ratewindow.operations.logs.values import address, readable, status

_ROUTER = re.compile(r"\bheroku(?:\[router\]: | router - )")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")
_PAIR = re.compile(r'(\w+)=(?:"([^"\\]*+(?:\\.[^"\\]*+)*)"|(\S*+))')


class Heroku:
    """Reads the lines of the router."""

    name = "heroku"

    def read(self, line: str) -> Entry | None:
        """The request of a line, or None for one of another program. Raises Unreadable."""
        router = _ROUTER.search(line, 0, 300)
        if not router:
            if not _TIME.search(line, 0, 100):
                raise Unreadable("not in the format {format}", format=self.name)
            return None
        time = _TIME.search(line, 0, router.start())
        pairs = {found[1]: found[2] or found[3] or "" for found in _PAIR.finditer(line, router.end())}
        if not time or "path" not in pairs or not pairs.get("method"):
            raise Unreadable("no request: {text!r}", text=line[router.end() :][:40])
        forwarded = readable(pairs.get("fwd", ""))
        path, _ = located(unescaped(pairs["path"]))
        return Entry(
            iso(time[0]),
            address(forwarded),
            readable(pairs["method"]),
            path,
            status(pairs.get("status", "")),
            host=readable(pairs.get("host", "")),
            headers={"x-forwarded-for": forwarded} if forwarded else NO_HEADERS,
        )
