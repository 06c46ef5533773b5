"""One definition of how a table is read, wherever it is said."""

import inspect
import subprocess
import sys

import pytest
import typer

from shoal.cli.app import app
from shoal.process.policy import parse_policy
from shoal.process.policy.schema import Data
from shoal.read.options import OPTIONS, different_options, given_options
from shoal.read.panel import read_panel


def test_read_panel_has_every_option_with_the_same_default():
    taken = {
        name: one.default
        for name, one in inspect.signature(read_panel).parameters.items()
        if name not in ("source", "engine", "shard_size")
    }
    assert taken == {name: one.default for name, one in OPTIONS.items()}


def test_a_policy_has_every_option_but_roles_with_the_same_default():
    fields = {field.alias or name: field.default for name, field in Data.model_fields.items() if name != "path"}
    assert fields == {name: one.default for name, one in OPTIONS.items() if not one.is_role}
    assert parse_policy("data: {missing: {interpolate: 2h}}").settings["missing"] == {"interpolate": "2h"}


@pytest.mark.parametrize("command", ["anonymize", "attack", "utility"])
def test_a_command_has_every_option(command):
    found = typer.main.get_command(app).commands[command]
    assert set(OPTIONS) <= {parameter.name for parameter in found.params}


def test_what_is_usual_need_not_be_said():
    said = {"id": "meter", "value": ["kwh"], "quasi": (), "missing": "fail", "complete": "1", "sql": None}
    assert given_options(said) == {"id": "meter", "value": ["kwh"]}
    assert different_options(said, {"id": "meter", "value": "kwh", "align": "exact"}) == []
    assert different_options(said, {"id": "meter", "value": ["kwh", "kvarh"], "missing": "keep"}) == [
        "value",
        "missing",
    ]


def test_the_options_load_no_frames():
    script = "import sys, shoal.read.options; sys.exit('polars' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
