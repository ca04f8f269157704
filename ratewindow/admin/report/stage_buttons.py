"""The buttons Enforce and To shadow of the report's rules: they run the actions of the list of rules, which ask first."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin.rights import may_enforce
from ratewindow.admin.rules import rollout, rollout_actions
from ratewindow.admin.rules.rollout_figures import Stage
from ratewindow.models import Mode, RateRule


@dataclass(frozen=True)
class StageButton:
    action: str
    label: str
    pk: int


def stage_buttons(request: HttpRequest, rule: RateRule) -> list[StageButton]:
    """Those that would change the rule; none for a reader who may not press them."""
    if not request.user.has_perm("ratewindow.change_raterule"):
        return []
    found = []
    if Stage.of(rule) != rollout.ENFORCE and may_enforce(request):
        label = gettext("Enforce for all") if rule.mode == Mode.ENFORCE else gettext("Enforce")
        found.append(StageButton(rollout_actions.enforce.__name__, label, rule.pk))
    if Stage.of(rule) != rollout.SHADOW:
        found.append(StageButton(rollout_actions.shadow.__name__, gettext("To shadow"), rule.pk))
    return found
