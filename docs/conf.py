"""How `make docs` makes a site of the files in this folder. The addresses are those of pyproject.toml."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]
metadata = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project, release = metadata["name"], metadata["version"]
author = metadata["authors"][0]["name"]
extensions = ["myst_parser", "links_out", "from_code", "project_links", "fixed_pictures", "count_words"]
root_doc = "index"
exclude_patterns = ["_build", "README.md"]  # the index includes the second
nitpicky = True
highlight_language = "text"  # where a block names none
smartquotes = False  # of `--option`, in texts of commands, it would make a dash
myst_heading_anchors = 4  # as a forge makes them

project_urls = metadata["urls"]
html_theme = "furo"
pygments_dark_style = "github-dark"  # furo's own underlines imports, as if they were links
html_title = f"{project} {release}"
html_baseurl = project_urls["Documentation"]
html_copy_source = False
html_show_copyright = False
