"""The report in the admin."""

from ratewindow.admin.report.report_admin import ReportAdmin

__all__ = ["ReportAdmin"]
