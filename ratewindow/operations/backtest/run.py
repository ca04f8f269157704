"""A backtest: every request of a log is decided by the rules of a plan, by the engine and at the log's times."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from ratewindow.conf import site_functions
from ratewindow.identity import ip
from ratewindow.identity.request_attributes import user_or_ip
from ratewindow.limiter.types import Check, Decision
from ratewindow.operations.backtest.as_request import Place, Places
from ratewindow.operations.backtest.asking import Asking, Stage
from ratewindow.operations.backtest.course import Course
from ratewindow.operations.backtest.known import BY_USER, Known, headers_of, parts_of
from ratewindow.operations.backtest.moments import Moment, Moments
from ratewindow.operations.backtest.notes import Note
from ratewindow.operations.backtest.peaks import ClientPeak, Peaks
from ratewindow.operations.backtest.plan import Plan
from ratewindow.operations.backtest.quick import Quick, is_quick, only_check
from ratewindow.operations.backtest.result import Caught, OfLog, OfPeriod, OfRule, Result
from ratewindow.operations.backtest.seen import Seen
from ratewindow.operations.backtest.suggestion import suggest
from ratewindow.operations.backtest.tally import SHOWN, Details, Tally
from ratewindow.operations.backtest.users import Users
from ratewindow.operations.logs.log import Log
from ratewindow.overrides import ALLOW, Overrides, Ruling
from ratewindow.overrides.as_typed import as_subject
from ratewindow.overrides.subjects import Subject, parse_subject
from ratewindow.rulebook.override_rows import members_of

MOST_PEAKS = 1_000_000  # clients of all periods together; of more there is no curve, or memory would have no bound
SHARED = frozenset(("global", "path", "method", "route"))  # parts of keys that name no client
Progress = Callable[[float, int], None]  # of the share of the log that has been read, and of its requests by now


def backtest(
    log: Log, plan: Plan, never: Collection[str] = (), progress: Progress | None = None, with_peaks: bool = False
) -> Result:
    """What the plan's rules would have done with the log's requests.

    `never` names clients who are never to be refused, as blocks name theirs. `with_peaks`: the peaks of each client, too, for
    a plan of one rule. Raises ValueError for a client that cannot be read, and LogError.
    """
    [found] = backtests(log, [plan], never, progress, with_peaks)
    return found


def backtests(
    log: Log,
    plans: Sequence[Plan],
    never: Collection[str] = (),
    progress: Progress | None = None,
    with_peaks: bool = False,
) -> list[Result]:
    """`backtest` of several plans, each as if it were alone, in one reading of the log."""
    with site_functions.unreported():
        while (found := _in_one_reading(log, plans, never, progress, with_peaks)) is None:
            pass
        return found


def _in_one_reading(
    log: Log, plans: Sequence[Plan], never: Collection[str], progress: Progress | None, with_peaks: bool
) -> list[Result] | None:
    """None if the log is to be read again, by holding more of its requests at once to sort them."""
    moments, requests = Moments(log), 0
    each = [_Backtest(log, moments, plan, never, with_peaks) for plan in plans]
    for batch in moments.batches():
        if log.out_of_order and log.widen():
            return None
        requests += len(batch)
        for one in each:
            one.take(batch)
        if progress is not None:
            progress(log.share_read, requests)
    return [one.result() for one in each]


class _Backtest:
    def __init__(self, log: Log, moments: Moments, plan: Plan, never: Collection[str], with_peaks: bool) -> None:
        self._log, self._plan = log, plan
        self._known, self._seen = Known(), Seen()
        never_refused = [parse_subject(as_subject(each)) for each in never]
        keys = {rule.key for rule in plan.rules} | {"user" if each.group else each.key or "ip" for each in never_refused}
        reads_users = plan.is_site or not BY_USER.isdisjoint(part for key in keys for part in parts_of(key))
        self._users = Users() if reads_users else None
        self._places = Places(None if plan.is_site else headers_of(keys), self._users)
        self._asking = Asking(plan, self._known)
        self._moments = moments
        self._courses = [Course(self._known) for _ in range(2 if self._moments.whole_seconds else 1)]
        self._total = Tally(len(self._courses))
        self._by_rule: dict[str, Tally] = {}
        self._details = Details()
        self._never = _exempt(never_refused)
        self._never_met: set[str] = set()
        self._never_refused = Tally(len(self._courses))
        self._alone = plan.rules[0] if len(plan.rules) == 1 and not plan.is_site else None  # its numbers are those of all
        windows = self._alone.windows if self._alone is not None and with_peaks else ()
        self._limits = {each.period_ms: each.limit for each in sorted(windows, key=lambda each: each.limit, reverse=True)}
        self._quick = Quick(self._alone) if self._alone is not None and not never and is_quick(self._alone) else None
        self._peaks = [Peaks(period_ms) for period_ms in sorted(self._limits)]
        self._has_too_many = False

    def take(self, batch: Sequence[Moment]) -> None:
        """Decide some thousand requests, the next ones, as long as there is time."""
        if self._users is not None:
            self._users.learn(moment.entry.user for moment in batch)
        decided = 0
        while decided < len(batch) and self._log.has_time():
            self._take(batch[decided])
            decided += 1
        if not decided:
            return
        self._seen.add(batch[:decided])
        if sum(map(len, self._peaks)) > MOST_PEAKS:
            self._peaks, self._has_too_many = [], True
        for course, now_ms in zip(self._courses, batch[decided - 1].times_ms, strict=True):
            course.sweep(now_ms)

    def _take(self, moment: Moment) -> None:
        """Decide a request, if a rule meets it."""
        entry, quick = moment.entry, self._quick
        is_known, check = quick.knows(entry) if quick is not None else (False, None)
        if check is not None:
            self._decide_quickly(moment, check)
        elif not is_known:
            missing = self._known.missing.total()
            request = self._places.of(entry)
            stages = self._asking.stages(request)
            check = only_check(stages, request) if self._alone is not None and not self._known.counts_by_answer else None
            if check is not None:
                self._decide_quickly(moment, check, self._never_named(request, check.identity))
            elif stages:
                self._decide(moment, request, stages)
            if quick is not None and (check is not None or not stages) and missing == self._known.missing.total():
                quick.learn(entry, check)

    def _decide_quickly(self, moment: Moment, check: Check, never: str = "") -> None:
        """Decide by one check. `never`: the client, if it is never to be refused."""
        total, who, caught = self._total, check.identity, False
        total.add(who)
        for number, course in enumerate(self._courses):
            if course.refuses(check, moment.times_ms[number]):
                total.refuse(number, who, check.enforce)
                caught = True
                if never:
                    self._never_refused.refuse(number, never)
        self._follow(moment, who, caught, never)

    def _never_named(self, request: Place, who: str) -> str:
        """The client of a request that is never to be refused: as the rule counts it, unless others are counted with it."""
        if self._never is None or not self._never.of_request(request):
            return ""
        is_shared = self._alone is not None and SHARED.issuperset(parts_of(self._alone.key))
        return user_or_ip(request) if is_shared else who

    def _decide(self, moment: Moment, request: Place, stages: Sequence[Stage]) -> None:
        entry, who, never, caught = moment.entry, "", "", False
        for number, course in enumerate(self._courses):
            parts, refused = course.judge(stages, request, moment.times_ms[number], entry.status)
            if not number:
                who = self._add(parts, request)
                never = self._never_named(request, who)
            would_refuse = not refused and any(part.outcome == "would_refuse" for part in parts)
            if refused or would_refuse:
                self._total.refuse(number, who, refused)
                caught = True
                if never:
                    self._never_refused.refuse(number, never)
                for part in () if self._alone is not None else parts:
                    if part.outcome in ("refused", "would_refuse"):
                        self._of_rule(part.rule).refuse(number, _identity(part, request), part.outcome == "refused")
        self._follow(moment, who, caught, never)

    def _follow(self, moment: Moment, who: str, caught: bool, never: str) -> None:
        """Keep what the request says of its client."""
        if never:
            self._never_met.add(never)
        entry, rule = moment.entry, self._alone
        self._details.add(who, entry, self._total.requests, caught)
        if not self._peaks or rule is None or not self._known.counts(rule, entry.status):
            return
        for peaks in self._peaks:
            peaks.add(
                who,
                moment.times_ms[0],
                rule.cost,
                status=entry.status,
                signed_in=bool(entry.user),
                never=bool(never),
                method=entry.method,
                target=entry.target,
                agent=entry.agent,
            )

    def _add(self, parts: Collection[Decision], request: Place) -> str:
        """Count the request for its client, which is returned, and for each rule that it met."""
        if self._alone is not None:
            who = next((_identity(part, request) for part in parts), "") or ip(request)
        else:
            who = user_or_ip(request)
            for part in parts:
                self._of_rule(part.rule).add(_identity(part, request))
        self._total.add(who)
        return who

    def _of_rule(self, name: str) -> Tally:
        tally = self._by_rule.get(name)
        if tally is None:
            tally = self._by_rule[name] = Tally(len(self._courses))
        return tally

    def result(self) -> Result:
        total = self._total
        if self._log.is_unordered:
            values = {"count": f"{self._log.out_of_order:,}", "requests": f"{self._log.read:,}"}
            return Result(self._of_log(), total.numbers().unknown, (), (), {}, (), (), Note("unordered", values))
        caught = [self._caught(client) for client in total.most_refused(SHOWN)]
        refused = {client: self._never_refused.refused(client) for client in sorted(self._never_met)}
        never = {client: bounds for client, bounds in refused.items() if bounds.most}
        return Result(
            log=self._of_log(),
            total=total.numbers(),
            rules=tuple(self._rules()),
            caught=caught,
            never=never,
            notes=tuple(self._notes()),
            periods=tuple(self._periods()),
        )

    def _of_log(self) -> OfLog:
        log, seen = self._log, self._seen
        return OfLog(
            format=log.format,
            read=log.read,
            unreadable=log.unreadable,
            examples=tuple(log.examples),
            requests=seen.requests,
            out_of_order=log.out_of_order,
            first_s=seen.first_s,
            last_s=seen.last_s,
            whole_seconds=self._moments.whole_seconds,
        )

    def _caught(self, client: str) -> Caught:
        total, name = self._total, self._places.addresses.name_in(client)
        return Caught(client, name, total.requests[client], total.refused(client), self._details.of(client))

    def _rules(self) -> Iterator[OfRule]:
        """Each rule, also one that no request met."""
        rules = self._known.rules() | self._plan.book.by_name
        if self._alone is not None:
            tallies = dict.fromkeys(rules, self._total)
        else:
            tallies = dict.fromkeys(rules, Tally(len(self._courses))) | self._by_rule
        for name, tally in tallies.items():
            yield OfRule(name, rules.get(name), tally.numbers())

    def _periods(self) -> Iterator[OfPeriod]:
        if not self._seen.requests:
            return
        start_ms, end_ms = int(self._seen.first_s * 1000), int(self._seen.last_s * 1000)
        for peaks in self._peaks:
            clients = [self._named(each) for each in peaks.taken_clients(start_ms, end_ms)]
            limit = self._limits[peaks.period_ms]
            found = suggest(clients, peaks.period_ms, end_ms - start_ms, self._moments.whole_seconds)
            yield OfPeriod(peaks.period_ms, limit, clients, found)

    def _named(self, client: ClientPeak) -> ClientPeak:
        name = self._places.addresses.name_in(client.client)
        return replace(client, client=name) if name else client

    def _notes(self) -> Iterator[Note]:
        requests = Counter({each.name: each.numbers.requests for each in self._rules()})
        yield Note("people")
        yield from self._known.notes(requests, self._seen.has_users, self._seen.has_statuses)
        yield from self._asking.notes()
        yield from self._seen.notes(self._places.addresses)
        if not self._seen.requests:
            yield Note("empty")
            return
        if not requests:
            yield Note("ruleless")
        elif self._alone is not None and not requests[self._alone.name] + self._known.missing[self._alone.name]:
            yield Note("unmet", {"rule": self._alone.name})
        if self._has_too_many:
            yield Note("too_many", {"most": f"{MOST_PEAKS:,}"})
        if self._moments.whole_seconds:
            yield Note("seconds")
        if self._log.out_of_order:
            yield Note("late", {"count": self._log.out_of_order})


def _exempt(never_refused: Sequence[Subject]) -> Overrides | None:
    if not never_refused:
        return None
    return Overrides(((each, Ruling(ALLOW)) for each in never_refused), lambda groups: members_of(groups, []))


def _identity(part: Decision, request: Place) -> str:
    """Whom a rule has counted; the address where it has counted nobody."""
    return part.check.identity if part.check is not None else ip(request)
