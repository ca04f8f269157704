"""The model of the history: who edited what, when, why and by which way, with the values before and after."""

from datetime import datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.models.fields import MomentField, user_field
from ratewindow.models.origin import MOST_BY, MOST_REASON, MOST_WAY
from ratewindow.overrides.subjects import MOST_CHARACTERS


class EditManager(models.Manager["Edit"]):
    def get_by_natural_key(self, at: str, kind: str, subject: str) -> "Edit":
        return self.get(at=datetime.fromisoformat(at), kind=kind, subject=subject)


class Edit(models.Model):
    """One edit: what one transaction did to one rule with its limits, one override or the switch; or one release,
    or the beginning or another end of a recording."""

    class Kind(models.TextChoices):
        RULE = "rule", _("Rule")
        OVERRIDE = "override", _("Block or exemption")
        SWITCH = "switch", _("Switch of all limits")
        RELEASE = "release", _("Release")
        RECORDING = "record", _("Recording")

    class Action(models.TextChoices):
        ADDED = "added", _("Added")
        CHANGED = "changed", _("Changed")
        DELETED = "deleted", _("Deleted")
        RELEASED = "released", _("Released")

    # What happened once. Of the other kinds an edit says what there was before and after, which can be restored.
    EVENTS = (Kind.RELEASE, Kind.RECORDING)

    at = MomentField(_("time"), db_index=True)
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    subject = models.CharField(
        _("subject"), max_length=MOST_CHARACTERS, blank=True
    )  # as `operations.history.recording.Subject` has it
    action = models.CharField(_("action"), max_length=8, choices=Action.choices)
    user = user_field("user_id")
    by = models.CharField(_("person"), max_length=MOST_BY, blank=True)  # also after the user is deleted
    way = models.CharField(_("way"), max_length=MOST_WAY)  # admin, code, define, command mode, ...
    reason = models.CharField(_("reason"), max_length=MOST_REASON, blank=True)
    before = models.JSONField(_("before"), null=True, blank=True)  # None if there was nothing
    after = models.JSONField(_("after"), null=True, blank=True)

    objects = EditManager()

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

    def natural_key(self) -> tuple[str, str, str]:
        """No two edits of a subject have the same moment."""
        return self.at.isoformat(), self.kind, self.subject
