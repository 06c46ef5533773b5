"""What `make soak` tries would be noticed: each group finds what is put there for it to find."""

import dataclasses

import numpy as np
import pytest

from abuse import enumeration, questions
from abuse.mutation import THINGS, mutate_bytes, mutate_cells, mutate_tree
from abuse.outcome import Outcome
from abuse.reader import Reader
from abuse.sessions import judge
from shoal import KAnonymity
from shoal.cli.app import run
from shoal.errors import InputError
from shoal.studio.security import CONTENT_POLICY


def failing(error):
    def use(path, rng):
        raise error

    return use


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("x"), "ValueError at test_sabotage.py"),
        (InputError("The value 73917.001 is no time."), "quotes the data"),
        (InputError("A line\nand another."), "more than a line"),
        (InputError("Fine."), None),
    ],
)
def test_a_reader_that_fails_or_quotes_is_found(tmp_path, error, told):
    table = b"id,time,value\nQZX1,0,73917.001\n"
    wrong = Reader("some", tmp_path / "x.csv", [table], lambda rng, seed, _: seed, failing(error), True).run(1, [b""])
    assert wrong is None if told is None else wrong.startswith(told)


def test_a_command_that_fails_inside_is_found(tmp_path, monkeypatch):
    def fails(*given, **named):
        raise ValueError("x")

    def look(path, rng):
        run(["look", str(path)])

    monkeypatch.setattr("shoal.process.look.look", fails)

    table = b"id,time,value\nQZX1,0,73917.001\n"
    wrong = Reader("some", tmp_path / "x.csv", [table], lambda rng, seed, _: seed, look, True).run(1, [b""])
    assert "Internal error ValueError" in wrong


def test_a_panel_that_is_judged_wrongly_is_found(tmp_path, monkeypatch):
    space = dataclasses.replace(enumeration.SPACES[0], wide=(enumeration.product(3, 3, 3), 3))
    monkeypatch.setattr(enumeration, "SPACES", [space])
    outcome = Outcome()
    enumeration.run(range(300), 300, tmp_path, outcome)
    assert outcome.findings == []
    check = KAnonymity.check
    monkeypatch.setattr(KAnonymity, "check", lambda self, panel: check(KAnonymity(self.k + 1), panel))
    enumeration.run(range(300), 300, tmp_path, outcome)
    assert outcome.findings


def test_answers_that_isolate_somebody_are_found(tmp_path, monkeypatch):
    outcome = Outcome()
    questions.ask_one_service(tmp_path / "good", 1, 60, outcome)
    assert outcome.findings == []
    whole = questions.selected

    def one_alone(values, question):
        """As if one subject were told apart in half of the answers."""
        rows = whole(values, question)
        return rows & (np.arange(len(rows)) != 0) if len(question.model_dump_json()) % 2 else rows

    monkeypatch.setattr(questions, "selected", one_alone)
    questions.ask_one_service(tmp_path / "bad", 1, 60, outcome)
    assert any("isolate 1 subjects" in finding for finding in outcome.findings)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"status": 500}, "is answered with 500"),
        ({"status": 200, "headers": {}}, "without the policy of contents"),
        ({"status": 200, "body": b"house QZX7"}, "with an identifier"),
        ({"status": 404}, None),
    ],
)
def test_an_answer_that_fails_or_tells_too_much_is_found(answer, told):
    answer = {"headers": {b"content-security-policy": CONTENT_POLICY.encode()}, "body": b""} | answer
    found = judge("studio", 1, ("GET", "/", b"", [], b""), answer)
    assert found is None if told is None else told in found


def test_what_is_put_into_trees_stays_as_it_is():
    """Once, it grew from try to try until a process of the soak had no memory left."""
    import random

    before = repr(THINGS)
    for number in range(500):
        mutate_tree(random.Random(number), {"a": [1, {"b": None}]})
    assert repr(THINGS) == before


def test_the_same_number_gives_the_same_bytes():
    import random

    table = b"id,time,value\na,1,2\nb,1,3\n"
    for change in (mutate_bytes, mutate_cells):
        assert change(random.Random(3), table) == change(random.Random(3), table)
    assert len({mutate_bytes(random.Random(i), table) for i in range(50)}) > 40
    assert repr(mutate_tree(random.Random(3), {"a": [1]})) == repr(mutate_tree(random.Random(3), {"a": [1]}))
