"""An app of a site that gives our pages the classes of Unfold."""
