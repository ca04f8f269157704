"""An app of the label ``auth`` that is not Django's, with users of its own and no groups."""
