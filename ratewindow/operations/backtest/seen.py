"""What the requests of a log have in common, which says how far its numbers can be trusted."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf

from ratewindow import conf
from ratewindow.identity.address import parse_address
from ratewindow.operations.backtest.addresses import Addresses
from ratewindow.operations.backtest.moments import Moment
from ratewindow.operations.backtest.notes import Note

TOLD_SHARE = 0.01  # of the requests
REFUSED = 429


class Seen:
    """All requests that were read, whether a rule meets them or not."""

    def __init__(self) -> None:
        self.requests = self._refused_before = self._by_proxy = 0
        self.first_s, self.last_s = inf, -inf
        self.has_users = self.has_statuses = False

    def add(self, batch: Sequence[Moment]) -> None:
        """Some thousand requests in order."""
        entries = [moment.entry for moment in batch]
        self.requests += len(entries)
        self.first_s = min(self.first_s, *(entry.at_s for entry in (entries[0], entries[-1])))
        self.last_s = max(self.last_s, *(entry.at_s for entry in (entries[0], entries[-1])))
        self._refused_before += sum(entry.status == REFUSED for entry in entries)
        self.has_users = self.has_users or any(entry.user for entry in entries)
        self.has_statuses = self.has_statuses or any(entry.status for entry in entries)
        if isinstance(conf.current().trusted_proxies, tuple) and conf.current().trusted_proxies:
            self._by_proxy += sum(_is_proxy(each.client) and "x-forwarded-for" not in each.headers for each in entries)

    def notes(self, addresses: Addresses) -> Iterator[Note]:
        if self._refused_before:
            yield Note("refused_before", {"count": f"{self._refused_before:,}"})
        if self._by_proxy > TOLD_SHARE * self.requests:
            yield Note("by_proxy", {"share": f"{self._by_proxy / self.requests:.0%}"})
        if len(addresses):
            yield Note("names")


@lru_cache(maxsize=4096)
def _is_proxy(client: str) -> bool:
    address, trusted = parse_address(client), conf.current().trusted_proxies
    return address is not None and isinstance(trusted, tuple) and any(address in network for network in trusted)
