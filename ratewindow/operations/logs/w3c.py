"""W3C's extended format, of which CloudFront writes: comments, one of which names the fields, and fields between tabs."""

from urllib.parse import unquote

from ratewindow.operations.logs.entry import NO_HEADERS, Entry, Unreadable
from ratewindow.operations.logs.request_line import target, with_query
from ratewindow.operations.logs.times import iso
from ratewindow.operations.logs.values import address, clean, status

_FIELDS = "#Fields:"
# The first of CloudFront's, for a file without the comment.
_CLOUDFRONT = (
    "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) "
    "cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken "
    "x-forwarded-for"
).split()
_HEADERS = {"cs(Referer)": "referer", "cs(Cookie)": "cookie", "x-forwarded-for": "x-forwarded-for"}


class W3C:
    """Reads one file: its fields are those of the last comment that named them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._fields = _CLOUDFRONT

    def read(self, line: str) -> Entry | None:
        """The request of a line, or None for a comment. Raises Unreadable."""
        if line.startswith("#"):
            if line.startswith(_FIELDS):
                self._fields = line[len(_FIELDS) :].split()
            return None
        texts = line.split("\t") if "\t" in line else line.split(" ")
        if len(texts) < min(len(self._fields), 12):
            raise Unreadable("not in the format {format}", format=self.name)
        found = dict(zip(self._fields, texts, strict=False))
        try:
            at_s = iso(f"{found['date']}T{found['time']}Z")
            client, method, stem = found["c-ip"], found["cs-method"], found["cs-uri-stem"]
        except KeyError as missing:
            raise Unreadable("no field {field}", field=missing) from None
        return Entry(
            at_s,
            address(client),
            clean(method),
            target(with_query(stem, found.get("cs-uri-query", "-"))),
            status(found.get("sc-status", "-")),
            _text(found.get("cs-username", "-")),
            _text(found.get("cs(User-Agent)", "-")),
            _text(found.get("x-host-header", "-")) or _text(found.get("cs(Host)", "-")),
            {name: text for field, name in _HEADERS.items() if (text := _text(found.get(field, "-")))} or NO_HEADERS,
        )


def _text(value: str) -> str:
    """Without the encoding, which older files have twice."""
    return "" if value == "-" else clean(unquote(unquote(value)) if "%" in value else value)
