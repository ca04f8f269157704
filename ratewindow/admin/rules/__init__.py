"""The rules in the admin: their list, their form, and what both say about a rule."""

from ratewindow.admin.rules.form import RuleWindowInline
from ratewindow.admin.rules.rule_admin import RateRuleAdmin

__all__ = ["RateRuleAdmin", "RuleWindowInline"]
