"""Delete orphaned state from Redis: that of deleted rules, and of windows that rules no longer have.

Also values that another program wrote under our keys, because of which no decision about a client is possible, and those
that would never expire, or too late, such as counts made while the server's clock was far ahead.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import redis

from ratewindow.models import CleaningRun
from ratewindow.operations.cleaning import runs
from ratewindow.operations.cleaning.deleting import Deleted, delete_unlike, unlink
from ratewindow.operations.cleaning.living import read_living
from ratewindow.operations.cleaning.pace import Budget, Pace
from ratewindow.operations.cleaning.runs import Run
from ratewindow.operations.cleaning.scanning import COUNT, Key, identity_of, scan
from ratewindow.operations.shared_prefix import refuse_when_shared
from ratewindow.store import process_clients

AT_ONCE = 1_000  # keys of no rule that are deleted by one reading of the rules
NOTED = 10_000  # keys of the server, after which the position is noted
BUDGET = Budget()


@dataclass(frozen=True)
class Cleaned:
    """The result of one run. `complete` is False if time ran out before all keys were seen: the next run goes on there."""

    seen: int = 0
    orphans: int = 0
    complete: bool = True
    dry_run: bool = False
    harmed: int = 0
    freed: float | None = field(default=0.0, compare=False)  # bytes, by keys of no rule; None if the server did not say
    measured: int = field(default=0, compare=False)  # keys of no rule; fewer than all of them make `freed` an estimate

    def __str__(self) -> str:
        verb = "would be deleted" if self.dry_run else "deleted"
        harmed = f", {self.harmed} overwritten by others or expiring too late {verb}" if self.harmed else ""
        rest = "" if self.complete else "; out of time before all were seen: the next run goes on there"
        return f"{self.seen} keys seen, {self.orphans} of no rule {verb}{self._freed()}{harmed}{rest}"

    def _freed(self) -> str:
        if not self.orphans:
            return ""
        if self.freed is None:
            return " (how large they were is not known: the Redis user lacks +memory|usage)"
        exactly = "exactly" if self.measured >= self.orphans else f"estimated from {self.measured}"
        return f" ({self.freed / 1_000_000:.1f} MB, {exactly})"


def clean_orphans(
    dry_run: bool = False,
    budget: Budget = BUDGET,
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Cleaned:
    """Delete state that belongs to no rule. Raise SharedPrefix, and delete nothing, if it may belong to another site.

    A run that its time ends, or that is killed, is continued by the next one. State that is left is no leak: it expires, only
    later.
    """
    if process_clients.in_memory():
        return Cleaned(dry_run=dry_run)
    with runs.recorded(dry_run) as run:
        refuse_when_shared()
        return _Cleaner(run, dry_run).clean(Pace(budget, clock_s, sleep))


class _Cleaner:
    """One run over all servers."""

    def __init__(self, run: Run, dry_run: bool) -> None:
        self._run = run
        self._position = dict(run.row.position)
        self._cleaned = Cleaned(dry_run=dry_run)
        self._living = read_living()

    def clean(self, pace: Pace) -> Cleaned:
        masters = process_clients.masters()
        identities = [identity_of(master) for master in masters]
        self._position = {name: cursor for name, cursor in self._position.items() if name in identities}
        for master, name in zip(masters, identities, strict=True):
            if self._position.get(name) == "0":
                continue
            self._clean_server(master, name, pace)
            if pace.is_over():
                break
        complete = all(self._position.get(name) == "0" for name in identities)
        self._cleaned = replace(self._cleaned, complete=complete)
        self._run.row.ended = CleaningRun.Ended.COMPLETE if complete else CleaningRun.Ended.TIME
        return self._cleaned

    def _clean_server(self, master: redis.Redis, name: str, pace: Pace) -> None:
        begin = int(self._position.get(name, 0))
        abandoned: list[Key] = []
        looked_at = 0
        for keys, cursor in scan(master, begin):
            looked_at += COUNT
            abandoned += self._look(master, keys)
            ends = cursor == 0 or pace.is_over()
            if ends or len(abandoned) >= AT_ONCE or looked_at >= NOTED:
                self._delete(master, abandoned)
                self._note(name, cursor)
                abandoned, looked_at = [], 0
            if ends:
                break
            pace.spend(COUNT)

    def _look(self, master: redis.Redis, keys: list[Key]) -> list[Key]:
        """Delete those that are not like the state that they should be. Returns those that no rule owns."""
        likenesses = [(key, self._living.likeness(key.tags)) for key in keys]
        owned = [(key.name, likeness) for key, likeness in likenesses if likeness is not None]
        harmed = delete_unlike(master, owned, self._cleaned.dry_run)
        self._cleaned = replace(self._cleaned, seen=self._cleaned.seen + len(keys), harmed=self._cleaned.harmed + harmed)
        return [key for key, likeness in likenesses if likeness is None]

    def _delete(self, master: redis.Redis, abandoned: list[Key]) -> None:
        """Read the rules now, after these keys were seen: otherwise a rule made in between would lose its first counts."""
        if not abandoned:
            return
        self._living = read_living()
        orphans = [key.name for key in abandoned if self._living.likeness(key.tags) is None]
        before = Deleted(self._cleaned.orphans, self._cleaned.freed, self._cleaned.measured)
        total = before.plus(unlink(master, orphans, self._cleaned.dry_run))
        self._cleaned = replace(self._cleaned, orphans=total.keys, freed=total.freed, measured=total.measured)

    def _note(self, name: str, cursor: int) -> None:
        """What was done so far, and where a next run goes on."""
        self._position[name] = str(cursor)
        row, done = self._run.row, self._cleaned
        row.seen, row.orphans, row.harmed, row.measured = done.seen, done.orphans, done.harmed, done.measured
        row.freed_bytes = None if done.freed is None else round(done.freed)
        row.position = dict(self._position)
        self._run.save()
