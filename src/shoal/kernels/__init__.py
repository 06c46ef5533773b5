"""Compiled loops: arrays in, arrays out. No validation, no frames, no files."""
