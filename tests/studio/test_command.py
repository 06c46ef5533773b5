"""`shoal studio` on the command line."""

import socket
import urllib.request
from importlib.metadata import entry_points

import pytest

from shoal.cli.app import run
from studio.running import running_studio


def test_the_command_is_found_by_its_entry_point_and_in_the_help(capsys):
    assert [found.value for found in entry_points(group="shoal.commands", name="studio")] == [
        "shoal.studio.command:studio"
    ]
    assert run(["--help"]) == 0
    assert "studio" in capsys.readouterr().out
    assert run(["studio", "--help"]) == 0
    assert "--public-url" in capsys.readouterr().out


def test_without_the_extra_it_says_how_to_install_it(tmp_path, capsys, monkeypatch):
    from shoal.studio import command

    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert run(["studio", str(tmp_path)]) == 2
    assert 'pip install "shoal[studio]"' in capsys.readouterr().err


def test_a_host_for_others_without_a_password_is_bad_input_and_makes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SHOAL_STUDIO_PASSWORD", raising=False)
    assert run(["studio", str(tmp_path / "p"), "--host", "0.0.0.0"]) == 2
    told = capsys.readouterr().err
    assert "--password-file FILE or set SHOAL_STUDIO_PASSWORD, or stay with --host 127.0.0.1" in told
    assert not (tmp_path / "p").exists()


def test_a_port_in_use_is_one_clear_line(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["studio", str(tmp_path / "p"), "--port", str(port)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"shoal: Cannot listen on 127.0.0.1, port {port}: ")
    assert "--port" in told
    assert run(["studio", str(tmp_path / "p"), "--port", "99999999"]) == 2


def test_a_project_that_cannot_be_one_is_bad_input(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(["studio", str(tmp_path / "file" / "p"), "--port", "0"]) == 2
    assert "cannot be used as a project folder" in capsys.readouterr().err


@pytest.mark.parametrize("password", [None, "a long password of the tests"])
def test_a_studio_starts_tells_its_address_answers_and_stops(tmp_path, password):
    env = {"SHOAL_STUDIO_PASSWORD": password or ""}
    with running_studio(tmp_path / "project", env=env) as address:
        assert ("/enter/" in address) == (password is None)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address) as answer:
            assert answer.status == 200
            assert "server" not in {name.lower() for name in answer.headers}
            text = answer.read().decode()
        assert ("Upload a table" if password is None else "Publisher password") in text
    folder = tmp_path / "project"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.name for p in folder.iterdir()} >= {"data", "tasks", "metrics", "releases", "studio.sqlite"}


def test_templates_and_static_files_are_part_of_the_package():
    from importlib.resources import files

    assert (files("shoal.studio") / "templates" / "label.html.j2").is_file()
    assert (files("shoal.studio") / "static" / "label.js").is_file()
