"""Print the oldest versions that pyproject.toml allows at run time, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
for requirement in [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]:
    if found := re.match(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", requirement):
        print(f"{found[1]}=={found[2]}")
