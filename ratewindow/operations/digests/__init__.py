"""Digests: what a report says of a day or a week, sent once to each channel that wants it."""
