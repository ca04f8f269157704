"""Runs cases against one limiter: one site for all cases of a kind, and one of its own for each that leaves traces."""

import itertools
from collections.abc import Iterator

from conformance.adapter import Adapter
from conformance.cases.case import Case
from conformance.running import Site, Sites
from conformance.verdict import NOT_APPLICABLE, NotApplicable, Verdict


def judged(sites: Sites, adapter: Adapter, cases: tuple[Case, ...]) -> Iterator[tuple[Case, Verdict]]:
    lacking = {case: reason for case in cases if (reason := _lacks(adapter, case))}
    yield from ((case, Verdict(NOT_APPLICABLE, reason)) for case, reason in lacking.items())
    rest = [case for case in cases if case not in lacking]
    for kind, together in _by_kind([case for case in rest if not case.alone]):
        with sites.running(kind) as site:
            yield from ((case, _verdict(case, site)) for case in together)
    for case in rest:
        if case.alone:
            with sites.running(case.kind) as site:
                yield case, _verdict(case, site)


def _lacks(adapter: Adapter, case: Case) -> str:
    return next((adapter.without[need] for need in case.needs if need in adapter.without), "")


def _by_kind(cases: list[Case]) -> Iterator[tuple[str, list[Case]]]:
    for kind, together in itertools.groupby(sorted(cases, key=lambda case: case.kind), key=lambda case: case.kind):
        yield kind, list(together)


def _verdict(case: Case, site: Site) -> Verdict:
    try:
        return case.run(site)
    except NotApplicable as reason:
        return Verdict(NOT_APPLICABLE, str(reason))
