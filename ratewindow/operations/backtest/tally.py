"""Adding up what became of requests: by rule, and by client."""

from collections import Counter
from collections.abc import Mapping

from ratewindow.operations.backtest.result import Bounds, Numbers
from ratewindow.operations.backtest.samples import Sample, Sampling
from ratewindow.operations.logs.entry import Entry

SHOWN = 100  # clients
MOST_DETAILED = 5_000  # clients whose paths, statuses and agents are kept


class Tally:
    """The numbers of one rule, or of all together, in each course."""

    def __init__(self, courses: int) -> None:
        self.requests: Counter[str] = Counter()  # by client
        self._refused, self._would_refuse = [0] * courses, [0] * courses
        self._caught: list[Counter[str]] = [Counter() for _ in range(courses)]  # refusals by client

    def add(self, client: str) -> None:
        self.requests[client] += 1

    def refuse(self, course: int, client: str, enforced: bool = True) -> None:
        if enforced:
            self._refused[course] += 1
        else:
            self._would_refuse[course] += 1
        self._caught[course][client] += 1

    def refused(self, client: str) -> Bounds:
        return Bounds.of([caught[client] for caught in self._caught])

    def most_refused(self, most: int) -> list[str]:
        return [client for client, _ in self._caught[-1].most_common(most)]

    def numbers(self) -> Numbers:
        return Numbers(
            requests=self.requests.total(),
            clients=len(self.requests),
            refused=Bounds.of(self._refused),
            would_refuse=Bounds.of(self._would_refuse),
            clients_refused=Bounds.of([len(caught) for caught in self._caught]),
        )


class Details:
    """What clients asked for, since they had `AFTER` requests or were refused: those with the most requests, if they are many."""

    AFTER = 20

    def __init__(self) -> None:
        self._kept: dict[str, Sampling] = {}

    def add(self, client: str, entry: Entry, requests: Mapping[str, int], refused: bool) -> None:
        sampling = self._kept.get(client)
        if sampling is None:
            if requests[client] < self.AFTER and not refused:
                return
            if len(self._kept) >= MOST_DETAILED:
                self._keep_half(requests)
            sampling = self._kept[client] = Sampling()
        sampling.add(entry.method, entry.target, entry.status, entry.agent)

    def _keep_half(self, requests: Mapping[str, int]) -> None:
        most = sorted(self._kept, key=lambda client: requests[client], reverse=True)[: MOST_DETAILED // 2]
        self._kept = {client: self._kept[client] for client in most}

    def of(self, client: str) -> Sample:
        sampling = self._kept.get(client)
        return sampling.sample() if sampling is not None else Sample()
