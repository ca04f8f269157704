"""Our pages, registered anew on Unfold's classes."""

from django.contrib import admin
from unfold.admin import ModelAdmin, TabularInline

from ratewindow.admin.overrides import OverrideAdmin
from ratewindow.admin.report import ReportAdmin
from ratewindow.admin.rules import RateRuleAdmin, RuleWindowInline
from ratewindow.contrib.alerts.admin import AlertChannelAdmin
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.models import Override, RateRule, ThrottleStat

for model in (AlertChannel, RateRule, Override, ThrottleStat):
    admin.site.unregister(model)


class UnfoldWindowInline(RuleWindowInline, TabularInline):
    pass


@admin.register(RateRule)
class UnfoldRuleAdmin(RateRuleAdmin, ModelAdmin):
    inlines = [UnfoldWindowInline]


@admin.register(Override)
class UnfoldOverrideAdmin(OverrideAdmin, ModelAdmin):
    pass


@admin.register(ThrottleStat)
class UnfoldReportAdmin(ReportAdmin, ModelAdmin):
    pass


@admin.register(AlertChannel)
class UnfoldChannelAdmin(AlertChannelAdmin, ModelAdmin):
    pass
