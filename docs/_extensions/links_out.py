"""On the site, a link to a file outside docs/ leads to the project's source, and one to docs/README.md to the index."""

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

AT = "blob/main"  # of the address of the source: where forges show a file, or lead to a folder


class LinksOut(SphinxTransform):
    default_priority = 5  # before Sphinx looks for what is linked to

    def apply(self, **_: Any) -> None:
        for kind in (addnodes.pending_xref, addnodes.download_reference):
            for link in [*self.document.findall(kind)]:
                self._lead(link)

    def _lead(self, link: nodes.Element) -> None:
        if link["reftarget"] == "README":  # which the index includes
            link["reftarget"] = self.config.root_doc
        path, anchor = self._target(link)
        if not path.is_relative_to(self.env.srcdir) and path.exists():
            place = path.relative_to(self.env.srcdir.parent).as_posix()
            address = f"{self.config.project_urls['Source']}/{AT}/{place}{anchor}"
            link.replace_self(nodes.reference("", "", *link.children, refuri=address))

    def _target(self, link: nodes.Element) -> tuple[Path, str]:
        """The path that a link names, which MyST has cut up for a page, and its anchor with the sign."""
        if link.get("refdomain") == "doc":
            anchor = link.get("reftargetid")
            return self.env.doc2path(link["reftarget"]).with_suffix(".md"), f"#{anchor}" if anchor else ""
        path, sign, anchor = link["reftarget"].partition("#")
        return Path(os.path.normpath(self.env.doc2path(self.env.docname).parent / path)), sign + anchor


def setup(app: Any) -> None:
    app.add_config_value("project_urls", {}, "env")
    app.add_transform(LinksOut)
