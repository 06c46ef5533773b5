"""Checks of guarantees that more than one method gives, on an engine."""
