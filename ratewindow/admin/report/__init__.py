"""The report in the admin, and the page of the state."""

from ratewindow.admin.report.report_admin import ReportAdmin

__all__ = ["ReportAdmin"]
