"""Compiled code is not used after the sources it was compiled from have changed."""

import subprocess
import sys

import pytest

from shoal.kernels.code_cache import STAMP, forget_old_code, where_code_is_kept

CALLEE = "from numba import njit\n\n@njit\ndef number():\n    return {number}\n"
CALLER = """
from numba import njit
from package.callee import number

@njit(cache=True)
def twice():
    return 2 * number()
"""
FORGETS = """
from pathlib import Path
from shoal.kernels.code_cache import forget_old_code
forget_old_code(Path(__file__).parent, Path(__file__).parent / "__pycache__")
"""


def twice(folder, number, forgets):
    """What the caller gives in a new process, with that number in the callee's file."""
    package = folder / "package"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(FORGETS if forgets else "")
    (package / "callee.py").write_text(CALLEE.format(number=number))
    (package / "caller.py").write_text(CALLER)
    script = "import sys; sys.path.insert(0, sys.argv[1]); from package.caller import twice; print(twice())"
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(("forgets", "second"), [(True, 4), (False, 2)])
def test_a_changed_callee_in_another_file_is_compiled_again_which_numba_alone_does_not(tmp_path, forgets, second):
    assert twice(tmp_path, 1, forgets) == 2
    assert twice(tmp_path, 2, forgets) == second


def test_code_of_the_same_sources_is_kept(tmp_path):
    sources, kept = tmp_path / "sources", tmp_path / "kept"
    for folder in (sources, kept):
        folder.mkdir()
    (sources / "kernel.py").write_text("a = 1\n")
    forget_old_code(sources, kept)
    code, other = kept / "kernel.nbi", kept / "kernel.pyc"
    for file in (code, other):
        file.touch()
    forget_old_code(sources, kept)
    assert code.exists()
    (sources / "kernel.py").write_text("a = 2\n")
    forget_old_code(sources, kept)
    assert not code.exists()
    assert other.exists()
    assert [file.name for file in kept.iterdir() if file != other] == [STAMP]


def test_a_folder_that_is_not_there_is_no_error(tmp_path):
    forget_old_code(tmp_path, tmp_path / "absent")


def test_the_kernels_have_a_stamp_of_their_sources():
    assert len((where_code_is_kept() / STAMP).read_text()) == 64
