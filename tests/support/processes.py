"""Which processes of a tree are alive, for tests that say nothing is left."""

import os
from pathlib import Path


def marked(mark: str) -> list[int]:
    """Processes whose environment holds `mark`; children inherit it, whatever group or session they are in."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            zombie = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not zombie and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue
    return found
