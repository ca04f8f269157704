"""The history of what people edit: each edit is recorded, and any earlier state can be restored."""
