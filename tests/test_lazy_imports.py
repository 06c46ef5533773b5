"""What `shoal --help` and `import shoal` must not pay for."""

import subprocess
import sys

import pytest

HEAVY = {
    *("numba", "shoal.kernels", "shoal.engines", "torch", "pyspark", "fastapi", "uvicorn", "starlette"),
    *("python_multipart", "polars", "duckdb", "plotly", "sklearn", "scipy", "pywt"),
}
COMMANDS = ("", "anonymize", "verify", "stream", "grow", "label", "label export", "learn", "studio")


def loaded_after(code):
    """The names of all modules that are loaded then; of a package its own is among them."""
    script = f"import sys\n{code}\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


def test_help_loads_no_kernels_no_torch_no_spark_no_web():
    helps = "; ".join(f"run([*{command.split()}, '--help'])" for command in COMMANDS)
    loaded = loaded_after(f"import shoal; dir(shoal); from shoal.cli.app import run; {helps}")
    assert {"shoal", "shoal.cli.label"} <= loaded
    assert not HEAVY & loaded


def test_features_and_measures_load_neither_scikit_learn_nor_wavelets():
    loaded = loaded_after("import shoal.features, shoal.utility")
    assert "shoal.utility" in loaded
    assert not {"sklearn", "pywt", "joblib"} & loaded


def test_methods_and_releases_load_no_solver_and_no_distributions():
    loaded = loaded_after(
        "import shoal.methods, shoal.release, shoal.simulate, shoal.labels, shoal.streams, shoal.ledger"
    )
    assert "shoal.methods.loss_bound" in loaded
    assert not {"scipy.optimize", "scipy.stats", "scipy.signal"} & loaded


def test_every_public_name_can_be_had():
    import shoal

    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert set(shoal.__all__) == set(dir(shoal))


def test_a_name_that_does_not_exist_is_an_attribute_error():
    import shoal

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        shoal.nothing  # noqa: B018
