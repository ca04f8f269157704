"""Delete blocks and exemptions that ended long ago."""

from dataclasses import dataclass

from ratewindow.models import Override, origin
from ratewindow.models.override_manager import KEPT


@dataclass(frozen=True)
class Ended:
    """How many were deleted."""

    overrides: int = 0
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would be deleted" if self.dry_run else "deleted"
        rows = "block or exemption" if self.overrides == 1 else "blocks and exemptions"
        return f"{self.overrides} {rows} that ended {KEPT.days} days ago {verb}"


def clean_ended(dry_run: bool = False) -> Ended:
    """Delete overrides that ended long ago. They apply to nobody, so processes need not be notified."""
    ended = Override.objects.get_queryset().long_ended()
    with origin.edits("cleaning", recorded=False):
        return Ended(ended.count() if dry_run else ended.delete_in_batches(), dry_run)
