"""The room of the history."""

from collections.abc import Iterable

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
    rule_action = "ratewindow.contrib.history.admin.export"
    edit_token = "ratewindow.contrib.history.admin.token"
    check_edit = "ratewindow.contrib.history.admin.check"
    object_history = "ratewindow.contrib.history.admin.object_page"
    first_edit = "ratewindow.contrib.history.admin.first_edit"
    marks = "ratewindow.contrib.history.admin.marks"
    note_release = "ratewindow.contrib.history.recording.record_release"
    find = "ratewindow.contrib.history.recording.find"
    erase = "ratewindow.contrib.history.recording.erase"
    keeps_reasons = True

    def ready(self) -> None:
        from ratewindow.contrib.history import recording

        recording.connect()

    def clean(self, dry_run: bool) -> Iterable[str]:
        from ratewindow.contrib.history import recording

        yield recording.clean(dry_run)
