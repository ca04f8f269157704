"""What the site's code limits by other packages, as shadow rules that count the same beside it."""
