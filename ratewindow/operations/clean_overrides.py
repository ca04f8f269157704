"""Blocks and exemptions that are long over leave the database."""

from dataclasses import dataclass

from ratewindow.models import Override
from ratewindow.models.override_manager import KEPT


@dataclass(frozen=True)
class Ended:
    """How many had been over for long enough."""

    overrides: int = 0
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would be deleted" if self.dry_run else "deleted"
        return f"{self.overrides} blocks and exemptions that ended {KEPT.days} days ago {verb}"


def clean_ended(dry_run: bool = False) -> Ended:
    """Delete those that nobody will ask about any more. They hold for nobody, so no process need hear of it."""
    ended = Override.objects.get_queryset().long_ended()
    return Ended(ended.count() if dry_run else ended.delete_in_pieces(), dry_run)
