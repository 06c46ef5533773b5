"""Everything the documentation shows is run: Python blocks, shell sessions, docstring examples, links.

In Markdown, blocks of one page run in order, in one temporary folder:

    ```python    one namespace per page; with >>> prompts the output shown must be the output
    ```console   lines after "$ " run in bash; the output shown below each must be the output ("..." stands for
                 anything, white space does not count, any pseudonym equals any other) and its exit code 0, unless
                 the next line asks with $?

Other blocks (sh, yaml, text, ...) are only read.
"""

import doctest
import importlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import shoal
from shoal.cli.app import run
from studio.running import CHROMIUM, browser

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"(?:\]\(|src=\")([^)\s\"]+)[)\"]")
PSEUDONYM = re.compile(r"\b[0-9a-f]{16}\b")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def pages(pattern):
    return [pytest.param(page, id=name_of(page)) for page in PAGES if pattern.search(page.read_text(encoding="utf-8"))]


@dataclass(frozen=True)
class Block:
    place: str
    language: str
    text: str


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(f"{name_of(page)}:{line}", found[1], found[2])


@dataclass
class Command:
    text: str
    shown: str = ""


def commands_of(block):
    """The commands of a session and the output shown below each; a backslash continues a command."""
    commands = []
    going_on = False
    for line in block.text.splitlines():
        if going_on:
            commands[-1].text += f"\n{line}"
        elif line.startswith("$ "):
            commands.append(Command(line[2:]))
        else:
            assert commands, f"{block.place}: a console block begins with a command after '$ '"
            commands[-1].shown += f"{line}\n"
            continue
        going_on = line.endswith("\\")
    return commands


SHELL = re.compile(r"[|&;<>$`]")  # what only a shell understands


def run_session(block):
    commands, code = commands_of(block), 0
    for i, command in enumerate(commands):
        where = f"{block.place}, command {i + 1}: $ {command.text}"
        code, printed = run_command(command.text, code)
        assert matches(command.shown, printed), f"{where}\nshown:\n{command.shown}\nprinted:\n{printed}"
        asked = i + 1 < len(commands) and "$?" in commands[i + 1].text
        assert asked or code == 0, f"{where}\nexited with {code}; printed:\n{printed}"


def run_command(text, code):
    """The exit code of a command and what it prints. `code` is that of the command before, for who asks for $?.

    `shoal` alone runs in this process, which has loaded everything; with pipes and the like, bash starts the program.
    """
    if text.startswith("shoal ") and not SHELL.search(text):
        with warnings.catch_warnings(action="ignore"), io.StringIO() as told:  # as `shoal` does
            with redirect_stdout(told), redirect_stderr(told):
                code = run(shlex.split(text.replace("\\\n", " "))[1:])
            return code, told.getvalue()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"(exit {code})\n{text}"],
        env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def matches(shown, printed):
    shown, printed = (PSEUDONYM.sub("(pseudonym)", text.strip()) + "\n" for text in (shown, printed))
    return doctest.OutputChecker().check_output(shown, printed, LENIENT)


def run_python(block, namespace):
    if ">>>" in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, namespace, block.place, block.place, 0)
        failures = run_doctest(test)
        namespace.update(test.globs)
        assert not failures, f"{block.place}\n{failures}"
        return
    try:
        exec(compile(block.text, block.place, "exec"), namespace)
    except Exception as error:
        pytest.fail(f"{block.place} raised {type(error).__name__}: {error}")


def run_doctest(test):
    told = []
    doctest.DocTestRunner(optionflags=LENIENT).run(test, out=told.append, clear_globs=False)
    return "".join(told)


@pytest.mark.parametrize("page", pages(re.compile(r"^```(python|console)$", re.M)))
def test_what_a_page_shows_is_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    namespace = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.language == "python":
            run_python(block, namespace)
        elif block.language == "console":
            run_session(block)


def modules_with_examples():
    for path in sorted((ROOT / "src").rglob("*.py")):
        if ">>>" in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_the_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = [test for test in doctest.DocTestFinder().find(importlib.import_module(name)) if test.examples]
    assert examples
    for example in examples:
        failures = run_doctest(example)
        assert not failures, failures


def slug(heading):
    """The anchor a Markdown viewer gives a heading."""
    plain = re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors_of(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.M)}


@pytest.mark.parametrize("page", pages(LINK))
def test_links_between_pages_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.is_relative_to(ROOT), f"{name_of(page)} links outside the repository: {target}"
        assert linked.exists(), f"{name_of(page)} links to nothing: {target}"
        if anchor:
            assert anchor in anchors_of(linked), f"{name_of(page)} links to a heading that is not there: {target}"


def test_every_page_can_be_reached_from_the_start_page():
    reached, to_do = set(), [ROOT / "docs" / "index.md"]
    while to_do:
        page = to_do.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        targets = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        to_do += [(page.parent / t.partition("#")[0]).resolve() for t in targets if "://" not in t and t[0] != "#"]
    assert not {name_of(page) for page in PAGES} - {name_of(page) for page in reached} - {"README.md"}


def load_script(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script  # dataclasses look there for the types of their fields
    spec.loader.exec_module(script)
    return script


class TestTheSite:
    """`make docs` builds it, and fails on links that lead nowhere; this much is known without building it."""

    def test_its_menu_has_every_page_once(self, monkeypatch):
        monkeypatch.syspath_prepend(ROOT / "docs")
        hooks, made = load_script("site_hooks"), load_script("reference_pages").pages()
        folder = ROOT / "docs"
        written = [path.relative_to(folder) for path in folder.rglob("*") if path.suffix in (".md", ".ipynb")]
        expected = {path.with_suffix(".md").as_posix() for path in written} | set(made) | set(hooks.BESIDE.values())
        listed = re.findall(r"^ +- (?:[^:#\n]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
        assert sorted(listed) == sorted(expected)

    def test_the_reference_has_every_command_name_parameter_and_field(self, monkeypatch):
        monkeypatch.syspath_prepend(ROOT / "docs")
        made = load_script("reference_pages").pages()
        rooms = {name for name in shoal.__all__ if f"## shoal.{name}\n" in made["reference/python.md"]}
        described = set(re.findall(r"heading: shoal\.(\S+)", made["reference/python.md"]))
        assert set(shoal.__all__) - {"__version__"} <= rooms | described
        assert "## shoal label export" in made["reference/commands.md"]
        assert "| `--sign` |" in made["reference/commands.md"]
        assert "### microaggregation" in made["reference/parameters.md"]
        assert "| `at_most` |" in made["reference/policy.md"]
        assert "| `guarantees` |" in made["reference/certificate.md"]

    @pytest.mark.soak
    def test_it_builds_without_a_warning_loads_nothing_from_elsewhere_and_searches_from_a_folder(self, tmp_path):
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "docs"), "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outside = re.compile(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"https?://")
        assert not [page.name for page in tmp_path.rglob("*.html") if outside.search(page.read_text(encoding="utf-8"))]
        assert not list(tmp_path.rglob("*.pyc"))
        if CHROMIUM is None:
            return
        with browser() as opened:
            page = opened.new_page(viewport={"width": 1280, "height": 800})
            page.goto((tmp_path / "methods" / "kp.html").as_uri())
            page.locator(".md-search__input").click()
            page.keyboard.type("reposition")
            page.locator(".md-search-result__link").first.wait_for()
            assert "methods/reposition.html" in page.locator(".md-search-result__link").first.get_attribute("href")


class TestThePicturesOfTheArchitecture:
    def test_they_are_what_the_import_contracts_say(self):
        for name, drawn in load_script("draw_rooms").pictures().items():
            written = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
            assert written == drawn, f"docs/images/{name} is out of date: run python docs/draw_rooms.py"

    def test_they_show_every_room_and_follow_the_contracts(self, tmp_path):
        script = load_script("draw_rooms")
        folders = {path.parent.name for path in (ROOT / "src" / "shoal").glob("*/__init__.py")}
        assert set(script.read_contracts().rooms) == folders | {"errors"}
        other = (ROOT / "pyproject.toml").read_text(encoding="utf-8").replace('"cli | studio"', '"cli", "studio"')
        (tmp_path / "pyproject.toml").write_text(other, encoding="utf-8")
        assert script.read_contracts(tmp_path / "pyproject.toml").layers[:2] == (("cli",), ("studio",))

    def test_the_page_has_a_paragraph_on_each_room(self):
        page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        told = re.findall(r"^\*\*`(\w+)`\*\*", page, re.M)
        assert sorted(told) == sorted(load_script("draw_rooms").read_contracts().rooms)


def test_every_method_has_a_page_or_a_section():
    folder = ROOT / "docs" / "methods"
    for name in shoal.methods.__all__:
        method = getattr(shoal.methods, name)
        page = (folder / f"{method.name}.md").is_file() or method.name in anchors_of(folder / "techniques.md")
        assert page, f"docs/methods/{method.name}.md is missing"


def test_the_errors_that_the_reading_page_explains_exist():
    source = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/shoal/read").glob("*.py")))
    joined = re.sub(r"\"\s*\n\s*f?\"", "", source)  # a message may be written on several lines
    section = (ROOT / "docs/reading.md").read_text(encoding="utf-8").partition("## Errors")[2].partition("\n## ")[0]
    phrases = re.findall(r"^\| `([^`]+)` \|", section, re.M)
    assert len(phrases) > 30
    assert not [phrase for phrase in phrases if phrase not in joined]


class TestTheseChecks:
    """A check that cannot fail would show nothing."""

    def test_wrong_output_is_noticed(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run_session(Block("here", "console", "$ echo one two\none ...\n"))
        with pytest.raises(AssertionError, match="here, command 1"):
            run_session(Block("here", "console", "$ echo one\ntwo\n"))

    def test_a_failing_command_is_noticed_unless_its_code_is_shown(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run_session(Block("here", "console", "$ (exit 3)\n$ echo $?\n3\n"))
        with pytest.raises(AssertionError, match="exited with 3"):
            run_session(Block("here", "console", "$ (exit 3)\n$ echo done\ndone\n"))

    def test_wrong_output_of_python_is_noticed(self):
        with pytest.raises(AssertionError, match="here"):
            run_python(Block("here", "python", ">>> 1 + 1\n3\n"), {})
        with pytest.raises(pytest.fail.Exception, match="here raised ZeroDivisionError"):
            run_python(Block("here", "python", "1 / 0\n"), {})

    def test_a_python_block_hands_on_its_names(self):
        names = {}
        run_python(Block("here", "python", ">>> x = 1\n"), names)
        run_python(Block("here", "python", "y = x + 1\n"), names)
        assert names["y"] == 2


def test_eight_incomes_says_how_many_are_published():
    page = (ROOT / "docs" / "tutorials" / "eight-incomes.md").read_text(encoding="utf-8")
    made = page.partition("\n## What Shoal makes of it\n")[2]
    shown = made.partition("```python")[2].partition("```")[0]
    people = re.findall(r"^([A-Z][a-z]+) +\d+-\d+", shown, re.M)
    left_out = {"Alice", "Bob", "Cathy", "David", "Jane", "Lily", "Mary", "Steve"} - set(people)
    words = {6: "six", 7: "seven", 8: "all"}
    assert f"{words[len(people)]} of the eight are published" in made
    assert all(f"{name} is\nleft out" in made.partition("```python")[0] for name in left_out)


def test_every_figure_of_why_not_is_on_the_page_of_rivals():
    docs = ROOT / "docs"
    told, figures = (docs / name for name in ("why-not.md", "results/rivals.md"))
    numbers = set(re.findall(r"\d+\.\d+ %|\d+\.\d{3}\b", told.read_text(encoding="utf-8")))
    assert len(numbers) > 15
    slovak = figures.read_text(encoding="utf-8").split("## Slovak meters: every table")[1].split("\n###")[0]
    assert {number for number in numbers if not re.search(rf"\| {re.escape(number)}( \||\s\()", slovak)} == set()


class TestTheMethodGuide:
    def test_its_measured_tables_are_those_of_the_results(self):
        script = load_script("method_table")
        page = script.PAGE.read_text(encoding="utf-8")
        filled = script.fill(page, script.RESULTS.read_text(encoding="utf-8"))
        assert page == filled, "docs/choose.md is out of date: run python docs/method_table.py"

    def test_it_follows_other_results(self):
        script = load_script("method_table")
        head = "| method | " + " | ".join(script.PURPOSES) + " |\n|" + " --- |" * 9
        rows = [["Shoal: kp", *["0.100"] * 8], ["a rival", "**0.050**", *["–"] * 7], ["noise", *["0.109"] * 8]]
        table = "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])
        results = f"### Some: at most 10 % found\n\n{table}\n\n## Next\n"
        made = script.fill(f"{script.BEGIN}earlier{script.END}", results)
        assert "earlier" not in made
        assert "| forecasting | a rival |" in made
        assert "| ramps | KP, noise |" in made
        assert "| a rival | **0.050** | – |" in made
