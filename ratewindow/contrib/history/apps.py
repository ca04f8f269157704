"""The room of the history."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from ratewindow import rooms


class HistoryConfig(rooms.Room):
    name = "ratewindow.contrib.history"
    verbose_name = _("History of rate limits")
    gives = "who changed what, when and why, and back; rules as files"
    stores = "a row for each edit"
    subcommands = {
        name: f"ratewindow.contrib.history.commands:{name.upper()}"
        for name in ("history", "restore", "export", "import", "apply")
    }
    tabs = [
        rooms.Tab(
            4,
            "admin:ratewindow_history_edit_changelist",
            _("History"),
            [
                *(f"ratewindow.{verb}_{model}" for verb in ("view", "change") for model in ("raterule", "override")),
                "ratewindow.view_throttlestat",
                "ratewindow.switch_limits",
            ],
        )
    ]
    rule_actions = ["ratewindow.contrib.history.admin.export"]
    keeps_reasons = True

    def ready(self) -> None:
        from ratewindow.contrib.history import recording

        recording.connect()
        self._recording = recording

    def note_release(self, identity: str, done: dict[str, Any]) -> None:
        self._recording.record_release(identity, done)

    def clean(self, dry_run: bool) -> Iterable[str]:
        yield self._recording.clean(dry_run)

    def find(self, client: rooms.Client) -> Iterable[rooms.Found]:
        yield self._recording.find(client)

    def erase(self, client: rooms.Client) -> None:
        self._recording.erase(client)

    def edit_token(self, row: Any) -> str:
        from ratewindow.contrib.history import admin

        return admin.token(row)

    def check_edit(self, request: HttpRequest, form: Any) -> None:
        from ratewindow.contrib.history import admin

        admin.check(request, form)

    def object_history(self, model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse | None:
        from ratewindow.contrib.history.admin import object_page

        return object_page(model_admin, request, object_id) if model_admin.opts.model_name in ("raterule", "override") else None

    def first_edit(self, rule: str, since: datetime) -> rooms.Edited | None:
        from ratewindow.contrib.history import admin

        return admin.first_edit(rule, since)

    def marks(self, request: HttpRequest, period: Any, rule: str) -> Iterable[rooms.Mark]:
        from ratewindow.contrib.history import admin

        return admin.marks(request, period.start, period.end, rule)
