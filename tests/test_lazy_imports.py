"""What `shoal --help` and `import shoal` must not pay for."""

import subprocess
import sys

import pytest

HEAVY = [
    "numba",
    "shoal.kernels",
    "torch",
    "pyspark",
    "fastapi",
    "uvicorn",
    "starlette",
    "polars",
    "duckdb",
    "plotly",
    "sklearn",
    "pywt",
]


def loaded_after(code):
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split("\n")


@pytest.mark.parametrize(
    "code",
    [
        "import shoal; dir(shoal)",
        "from shoal.cli.app import run; run(['--help'])",
        "from shoal.cli.app import run; run(['anonymize', '--help'])",
        "from shoal.cli.app import run; run(['verify', '--help'])",
        "from shoal.cli.app import run; run(['stream', '--help'])",
    ],
)
def test_help_loads_no_kernels_no_torch_no_spark_no_web(code):
    loaded = loaded_after(code)
    assert "shoal" in loaded
    assert not [m for m in loaded for heavy in HEAVY if m == heavy or m.startswith(heavy + ".")]


def test_every_public_name_can_be_had():
    import shoal

    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert set(shoal.__all__) == set(dir(shoal))


def test_a_name_that_does_not_exist_is_an_attribute_error():
    import shoal

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        shoal.nothing  # noqa: B018
