"""What a person sees is what is there."""

import shoal
from shoal.cli.app import run
from shoal.cli.output import print_table


def test_text_from_a_folder_does_not_steer_the_terminal(capsys):
    print_table([("note", "\x1b[2J\x1b[Hverdict  holds\nk-anonymity  holds"), ("plain", "ü – 5 %")])
    shown = capsys.readouterr().out
    assert shown.count("\n") == 2
    assert "\x1b" not in shown
    assert "ü – 5 %" in shown


def test_the_version_is_that_of_the_package(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"shoal {shoal.__version__}\n"
