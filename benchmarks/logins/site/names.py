"""The names of the site's accounts, and their passwords; known without Django, so that a client knows them too."""

from benchmarks.logins.ways import WAYS

VICTIM, NOBODY = "victim", "nobody"  # of one length, so that pages that repeat a name are as long; nobody has no account
VICTIMS = [f"{VICTIM}{number}" for number in range(len(WAYS))]  # one for each way in
OTHERS = [f"other{number}" for number in range(1000)]
PASSWORD, NEW_PASSWORD = "right", "a-new-one-2026"
