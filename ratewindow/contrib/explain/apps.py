"""The room Explain: why a request is refused, asked by the request or by the code that a refused visitor reads."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratewindow import rooms
from ratewindow.background import Chore


class ExplainConfig(rooms.Room):
    name = "ratewindow.contrib.explain"
    verbose_name = _("Rate limits: Explain")
    gives = "why a request is refused, by the request or by the code of the refusal"
    stores = "the codes of refusals, in Redis for up to two hours"
    subcommands = {"explain": "ratewindow.contrib.explain.commands.explain:EXPLAIN"}

    pages = {"explain": "ratewindow.contrib.explain.page.page"}
    rule_links = "ratewindow.contrib.explain.page.rule_links"
    client_links = "ratewindow.contrib.explain.page.client_links"
    find = "ratewindow.contrib.explain.codes.found"
    erase = "ratewindow.contrib.explain.codes.erase"
    tabs = [rooms.Tab(5, "admin:ratewindow_explain", _("Explain"), ["ratewindow.view_raterule", "ratewindow.change_raterule"])]

    @cached_property
    def _codes(self) -> Any:
        from ratewindow.contrib.explain import codes

        return codes

    def chores(self) -> Iterator[Chore]:
        yield Chore(self._codes.of_process.send, lambda: self._codes.SEND_S, "reports", self._codes.of_process.has_unsent)

    def reset(self) -> None:
        self._codes.of_process.reset()

    def end(self) -> None:
        with suppress(Exception):  # Redis is unavailable, where nobody could look them up
            self._codes.of_process.send()

    def note_refusals(self, refusals: Iterable[Any]) -> None:
        self._codes.of_process.note(refusals)
