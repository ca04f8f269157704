"""Blocks and exemptions: what holds for some clients, for a while, whatever the rules say."""

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

from ratewindow.rule import NAME_PATTERN, NAME_WORDS


class Override(models.Model):
    """One exception: this client, or everybody, is let pass, refused, or held to another rate."""

    class Action(models.TextChoices):
        ALLOW = "allow", "Let pass: no rule holds"
        BLOCK = "block", "Block: refuse everything"
        RATE = "rate", "Another rate"

    action = models.CharField(max_length=8, choices=Action.choices)
    rule = models.CharField(
        max_length=64,
        blank=True,
        validators=[RegexValidator(NAME_PATTERN, f"This is no rule name: use {NAME_WORDS}.")],
        help_text="The name of the rule that it is about; empty for all of them.",
    )
    identity = models.CharField(
        max_length=255,
        help_text="Such as ip:203.0.113.0/24, user:42, group:staff or header:x-api-key:...; * means everybody.",
    )
    rate = models.CharField(max_length=100, blank=True, help_text="For another rate: such as 100/m or 5/s; 1000/h.")
    starts_at = models.DateTimeField("from", null=True, blank=True, help_text="Empty: at once.")
    expires_at = models.DateTimeField("until", null=True, blank=True, help_text="Empty: until it is deleted.")
    reason = models.CharField(max_length=200, blank=True, help_text="For people: why.")
    source = models.CharField(max_length=32, default="admin", editable=False, help_text="What made it: the admin, a command.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "block or exemption"
        verbose_name_plural = "blocks and exemptions"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["expires_at"], name="ratewindow_override_expires")]
        permissions = [("view_identity", "Can see identities unmasked")]

    def __str__(self) -> str:
        return f"{self.action} {self.identity}"
