"""Java is found, or a message says what to install."""

import gc

import pytest

from shoal.cli.app import run
from shoal.engines.java import find_java
from shoal.errors import ParameterError


def make_java(home, version=None, says=None):
    """A Java with a note of its version, or one that says it when asked."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n" + (f"echo 'openjdk version \"{says}\"' >&2\n" if says else "exit 1\n"))
    program.chmod(0o755)
    if version:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


def find(tmp_path, *, home=None, path=None):
    environment = {"PATH": str(tmp_path / "nothing" if path is None else path / "bin")}
    if home is not None:
        environment["JAVA_HOME"] = str(home)
    return find_java(environment, usual=[str(tmp_path / "jvm" / "*")])


def test_java_home_goes_before_the_path_and_the_path_before_usual_places(tmp_path):
    home, path = make_java(tmp_path / "home", "21.0.2"), make_java(tmp_path / "path", "17.0.1")
    usual = make_java(tmp_path / "jvm" / "java-17", "17.0.15")
    assert find(tmp_path, home=home, path=path).home == home
    assert find(tmp_path, path=path).home == path
    assert find(tmp_path).home == usual
    assert find(tmp_path).version == 17
    assert find(tmp_path).program == usual / "bin" / "java"


def test_one_that_is_too_old_is_passed_over(tmp_path):
    old, good = make_java(tmp_path / "old", "1.8.0_402"), make_java(tmp_path / "jvm" / "good", "21")
    found = find(tmp_path, home=old)
    assert (found.home, found.version) == (good, 21)


def test_one_newer_than_spark_was_made_for_is_taken_only_alone(tmp_path):
    new = make_java(tmp_path / "new", "25.0.3")
    assert find(tmp_path, home=new).version == 25
    good = make_java(tmp_path / "jvm" / "good", "17.0.1")
    assert find(tmp_path, home=new).home == good


def test_one_without_a_note_is_asked(tmp_path):
    make_java(tmp_path / "jvm" / "a", says="1.8.0_402")
    make_java(tmp_path / "jvm" / "b", says="17.0.15")
    make_java(tmp_path / "jvm" / "c")  # says nothing
    assert find(tmp_path).version == 17


def test_a_link_on_the_path_leads_to_its_home(tmp_path):
    home = make_java(tmp_path / "jvm" / "x", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find(tmp_path, path=tmp_path).home == home


def test_without_one_it_is_said_what_to_install(tmp_path):
    with pytest.raises(ParameterError) as told:
        find(tmp_path)
    assert str(told.value) == (
        "Spark needs Java 17 or 21, but there is none in JAVA_HOME, on the PATH or in the usual places. Install one, "
        "on Debian and Ubuntu with: apt-get install openjdk-17-jre-headless (or openjdk-21-jre-headless); or set "
        "JAVA_HOME to the folder of one."
    )


def test_with_old_ones_alone_it_is_said_which(tmp_path):
    home = make_java(tmp_path / "home", "11.0.2")
    make_java(tmp_path / "path", "1.8.0")
    with pytest.raises(ParameterError, match=r"there is only Java 11 \(JAVA_HOME\), Java 8 \(on the PATH\)\. Install"):
        find(tmp_path, home=home, path=tmp_path / "path")


def test_the_command_line_says_so_in_one_line_and_exits_with_2(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    monkeypatch.setattr("shoal.engines.session._running", lambda: None)
    monkeypatch.setattr("shoal.engines.java.find_java.__kwdefaults__", {"usual": ()})
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    options = ["--key", "region", "--sensitive", "x", "--l", "2", "--window", "2", "--private", str(tmp_path / "keep")]
    assert run(["stream", str(tmp_path), "--engine", "spark", *options, "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("shoal: Spark needs Java 17 or 21, but there is none")
    assert "openjdk-17-jre-headless" in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_pyspark_the_extra_is_named(monkeypatch):
    from shoal.engines.session import session

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"PySpark, which is not installed\. Install it with: pip"):
        session("local[1]")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # PySpark leaves its pipe open
def test_a_session_that_does_not_start_says_with_what_and_leaves_nothing(no_session, tmp_path, monkeypatch):
    from shoal.engines.session import session

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(
        ParameterError, match=rf"did not start with master 'nowhere\[2\]' on Java {find_java().version} \("
    ):
        session("nowhere[2]")
    assert list(tmp_path.iterdir()) == []
    gc.collect()  # the pipe, here and not in the next test
