"""The room of backtests: what a limit would have done, from an access log."""

from django.utils.translation import gettext_lazy as _

from ratewindow import rooms


class BacktestConfig(rooms.Room):
    name = "ratewindow.contrib.backtest"
    verbose_name = _("Backtests")
    gives = "what a limit would have done, from an access log: whom it refuses, the curve, and one number with its reason"
    pages = {"backtest": "ratewindow.contrib.backtest.page.page"}
    rule_links = "ratewindow.contrib.backtest.page.rule_links"
    tabs = [
        rooms.Tab(
            7,
            "admin:ratewindow_backtest",
            _("Backtest"),
            [f"ratewindow.{verb}_raterule ratewindow.view_throttlestat" for verb in ("view", "change")],
        )
    ]
    subcommands = {"backtest": "ratewindow.contrib.backtest.commands.backtest:BACKTEST"}
