"""The edits of rules, blocks and the switch: who, when, why and by which way, with the values before and after. `recording`
writes them.
"""

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.models.fields import MomentField, user_field
from ratewindow.models.origin import MOST_BY, MOST_REASON, MOST_WAY
from ratewindow.overrides.subjects import MOST_CHARACTERS


class Edit(models.Model):
    """What one transaction did to one rule with its limits, to one block or exemption, or to the switch; or one release.

    One that is not saved stands for what an import or a restore would change.
    """

    class Kind(models.TextChoices):
        RULE = "rule", _("Rule")
        OVERRIDE = "override", _("Block or exemption")
        SWITCH = "switch", _("Switch of all limits")
        RELEASE = "release", _("Release")

    class Action(models.TextChoices):
        ADDED = "added", _("Added")
        CHANGED = "changed", _("Changed")
        DELETED = "deleted", _("Deleted")
        RELEASED = "released", _("Released")

    at = MomentField(_("time"), db_index=True)
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    # The name of a rule, the primary key of a block or exemption, the stored identity of a released client.
    subject = models.CharField(_("subject"), max_length=MOST_CHARACTERS, blank=True)
    action = models.CharField(_("action"), max_length=8, choices=Action.choices)
    user = user_field("user_id")
    by = models.CharField(_("person"), max_length=MOST_BY, blank=True)  # also after the user is deleted
    way = models.CharField(_("way"), max_length=MOST_WAY)  # admin, code, command mode, restore
    reason = models.CharField(_("reason"), max_length=MOST_REASON, blank=True)
    before = models.JSONField(_("before"), null=True, blank=True)  # None if there was nothing
    after = models.JSONField(_("after"), null=True, blank=True)

    class Meta:
        verbose_name = _("edit")
        verbose_name_plural = _("history")
        default_permissions = ()  # whoever may view a rule or a block may view its edits
        ordering = ["-at", "-pk"]
        indexes = [  # for the history of one row, and of all, of a kind or by a person
            models.Index(fields=["kind", "subject", "at"], name="ratewindow_edit_subject"),
            models.Index(fields=["kind", "at"], name="ratewindow_edit_kind"),
            models.Index(fields=["by", "at"], name="ratewindow_edit_by"),
        ]

    def __str__(self) -> str:
        """Without the subject, which may be an identity that not everybody may see."""
        return f"{self.get_kind_display()} {self.get_action_display().lower()} {self.at:%Y-%m-%d %H:%M}"

    @classmethod
    def of(cls, kind: str, subject: str, before: Any, after: Any) -> "Edit":
        """The edit that leads from these values to those; None stands for what is not there."""
        action = cls.Action.ADDED if before is None else cls.Action.DELETED if after is None else cls.Action.CHANGED
        return cls(kind=kind, subject=subject, action=action, before=before, after=after)

    @property
    def is_restorable(self) -> bool:
        """Not a release: its counts are deleted."""
        return self.kind != self.Kind.RELEASE
