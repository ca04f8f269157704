"""Deletes edits of blocks, exemptions and releases when they are older than any statistics; edits of rules stay."""

from dataclasses import dataclass

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.models import Edit


@dataclass(frozen=True)
class Forgotten:
    """How many were deleted."""

    edits: int = 0
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would be deleted" if self.dry_run else "deleted"
        edits = "edit of a block, exemption or release" if self.edits == 1 else "edits of blocks, exemptions and releases"
        return f"{self.edits} old {edits} {verb}"


def clean_edits(dry_run: bool = False) -> Forgotten:
    """Identities are kept in the history for as long as the statistics of days are kept, ``RETENTION["day"]``."""
    oldest = time_zone.now() - conf.current().retention["day"]
    old = Edit.objects.filter(kind__in=[Edit.Kind.OVERRIDE, Edit.Kind.RELEASE], at__lt=oldest)
    return Forgotten(old.count() if dry_run else old.delete()[0], dry_run)
