"""The names that occur most often, in bounded memory, whatever is counted: the summary of Misra and Gries.

Once there are twice as many names as are to remain, the largest count beyond those is subtracted from all counts, and names
with nothing left are dropped. Each unit that a count is too small by was subtracted from more than `MOST` counts, so after N
units no count is too small by more than N / (MOST + 1), and none is ever too large. A name with more units than that is
never dropped, however many others come. Space-Saving has the same bound.

Misra and Gries, *Finding repeated elements*, 1982; that such summaries may be added up, and their bounds with them: Agarwal and
others, *Mergeable summaries*, PODS 2012; the batches, which cost a unit no more than a dict's look-up: Anderson and others,
*A high-performance algorithm for identifying frequent items in data streams*, IMC 2017.
"""

MOST = 100


class HeavyHitters:
    """Counts by name. `bound` is how many units any name may have beyond its count, and a name that is missing in all."""

    __slots__ = ("bound", "counts", "most")

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.counts: dict[str, int] = {}  # always the same dict, whose counts a caller may raise
        self.bound = 0

    def add(self, name: str) -> None:
        """Count one unit."""
        counts = self.counts
        if name not in counts and len(counts) >= 2 * self.most:
            self.shrink(self.most)
        counts[name] = counts.get(name, 0) + 1

    def shrink(self, most: int) -> None:
        """Keep at most so many names."""
        if len(self.counts) <= most:
            return
        cut = sorted(self.counts.values(), reverse=True)[most]
        left = {name: count - cut for name, count in self.counts.items() if count > cut}
        self.counts.clear()
        self.counts.update(left)
        self.bound += cut
