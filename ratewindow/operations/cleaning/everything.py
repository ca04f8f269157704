"""All that is cleaned regularly: the database and Redis."""

from collections.abc import Iterator

from ratewindow.operations.cleaning.ended_overrides import clean_ended
from ratewindow.operations.cleaning.old_edits import clean_edits
from ratewindow.operations.cleaning.orphans import BUDGET, clean_orphans
from ratewindow.operations.cleaning.pace import Budget


def clean(dry_run: bool = False, budget: Budget = BUDGET) -> Iterator[str]:
    """What each part has done, in a sentence."""
    yield str(clean_ended(dry_run))
    yield str(clean_edits(dry_run))
    yield str(clean_orphans(dry_run, budget))
