"""Compiled loops: arrays in, arrays out. No validation, no frames, no files but those of compiled code."""

from pathlib import Path

from shoal.kernels.code_cache import forget_old_code, where_code_is_kept

forget_old_code(Path(__file__).parent, where_code_is_kept())
