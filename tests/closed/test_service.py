"""Tokens, budgets and the log of a closed service."""

import io
import json
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from closed.places import MINIMUM, candidate_of, closed, random_question, raw_panel, recipient
from shoal import Panel, load_release, read_panel, verify
from shoal.cli.app import run
from shoal.closed import QUESTION, Closed, Count, Mean, Quantile, Range, Window, find_closed_folder
from shoal.closed.noisy import NoisyAnswers, curves_of_subjects
from shoal.closed.questions import Refused
from shoal.closed.settings import ClosedPart
from shoal.closed.tokens import fingerprint
from shoal.errors import InputError, ParameterError, ReleaseError
from shoal.release import release_candidate
from studio.people import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(tmp_path, clock):
    return closed(tmp_path / "closed", candidate_of(raw_panel()), clock=clock, budget=5, budget_in_all=8)


class TestTokens:
    def test_a_token_is_stored_as_its_hash_alone(self, service, tmp_path):
        _, secret = service.register.create("north", 30)
        content = b"".join(p.read_bytes() for p in (tmp_path / "closed").iterdir() if p.is_file())
        assert secret.encode() not in content
        assert fingerprint(secret).encode() in content
        assert service.find(secret).recipient == "north"
        assert service.find(secret[:-1]) is None

    def test_it_expires_and_can_be_revoked_and_then_nothing_is_answered(self, service, clock):
        token = recipient(service, days=1)
        other = recipient(service, "south", days=9)
        clock.now += 86_401
        assert service.ask(token, Count()) is None
        assert service.ask(other, Count()).outcome == "answered"
        service.register.revoke(other.token)
        assert service.ask(other, Count()) is None
        assert len(service.register.entries()) == 1
        with pytest.raises(ParameterError, match=r"There is no token 99\. See: shoal serve token list"):
            service.register.revoke(99)

    @pytest.mark.parametrize(("name", "days"), [("", 1), ("a\nb", 1), ("x" * 201, 1), ("a", 0), ("a", 4000)])
    def test_odd_names_and_times_are_refused(self, service, name, days):
        with pytest.raises(
            ParameterError, match=r"A recipient must be one line of text|A token must be valid for more than 0"
        ):
            service.register.create(name, days)


class TestBudget:
    def test_refused_questions_cost_as_much_as_answered_ones(self, service):
        token = recipient(service)
        nobody = Count(where=(Range(at=0, low=1e9),))
        left = [service.ask(token, question).questions_left for question in (Count(), nobody, Mean(start="never"))]
        assert left == [4, 3, 2]

    def test_answers_and_refusals_have_the_same_fields(self, service):
        token = recipient(service)
        shapes = [
            list(service.ask(token, question).model_dump())
            for question in (Count(), Count(where=(Range(at=0, low=1e9),)), Mean(start="never"))
        ]
        assert shapes[0] == shapes[1] == shapes[2] == ["outcome", "value", "reason", "questions_left"]

    def test_it_is_of_the_recipient_whatever_the_token(self, service):
        first, second = recipient(service), recipient(service)
        for token in (first, second, first, second, first):
            assert service.ask(token, Count()).outcome == "answered"
        answer = service.ask(second, Count())
        assert (answer.outcome, answer.value, answer.reason, answer.questions_left) == ("refused", None, "budget", 0)

    def test_all_together_have_one_too(self, service):
        tokens = [recipient(service, name) for name in ("north", "south")]
        outcomes = [service.ask(tokens[i % 2], Count()).reason for i in range(9)]
        assert outcomes == [""] * 8 + ["budget"]

    def test_it_is_kept_when_all_ask_at_once(self, service):
        tokens = [recipient(service, name) for name in ("north", "south")]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda i: service.ask(tokens[i % 2], Count()).outcome, range(24)))
        assert answers.count("answered") == 8
        assert service.register.first_odd() is None

    def test_who_has_nothing_left_cannot_fill_the_log(self, service, monkeypatch):
        monkeypatch.setattr("shoal.closed.service.MOST_REFUSED_FOR_BUDGET", 3)
        token = recipient(service)
        for _ in range(20):
            service.ask(token, Count())
        assert [entry.reason for entry in service.register.entries()] == [""] * 5 + ["budget"] * 3


class TestQuestions:
    @pytest.mark.parametrize(
        "question",
        [
            Count(where=(Range(at=99),)),
            Count(where=(Range(at="2024-01-01"),)),
            Count(where=(Range(at="0001-01-01T00:00+23:59"),)),
            Count(where=(Range(at=0, channel="other"),)),
            Mean(start=50),
            Mean(start=5, end=2),
            Quantile(q=0.5, end=-1),
        ],
    )
    def test_what_the_data_does_not_have_is_not_understood(self, service, question):
        answer = service.ask(recipient(service), question)
        assert (answer.outcome, answer.value, answer.reason) == ("refused", None, "not-understood")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"kind": "sum"},
            {"kind": "count", "where": [{"kind": "range", "at": 0, "low": "x"}]},
            {"kind": "count", "where": [{"kind": "range", "at": 0}] * 9},
            {"kind": "count", "sql": "select"},
            {"kind": "quantile", "q": 1.5},
            {"kind": "count", "where": [{"kind": "range", "at": 0.5}]},
            {"kind": "count", "where": [{"kind": "range", "at": True}]},
            {"kind": "count", "where": [{"kind": "range", "at": 2**63}]},
            {"kind": "count", "where": [{"kind": "range", "at": 0, "low": float("nan")}]},
        ],
    )
    def test_what_is_no_question_is_refused_by_its_type(self, wrong):
        with pytest.raises(ValidationError):
            QUESTION.validate_python(wrong)

    def test_moments_are_those_of_the_data(self, tmp_path):
        times = np.datetime64("2024-01-01T00:00") + np.arange(12) * np.timedelta64(1, "h")
        panel = Panel(raw_panel().values, times=times, timezone="Europe/Bratislava")
        service = closed(tmp_path / "c", candidate_of(panel))
        token = recipient(service)
        same = [
            service.ask(token, Mean(start="2024-01-01T04:00", end="2024-01-01T05:00")),
            service.ask(token, Mean(start="2024-01-01T04:00+01:00", end="2024-01-01T05:00+01:00")),
        ]
        assert same[0].value == same[1].value is not None
        assert service.ask(token, Count(where=(Range(at=3),))).reason == "not-understood"
        assert service.about()["first"] == "2024-01-01T01:00:00+01:00"

    def test_what_is_told_about_the_data_has_no_value_of_it(self, service):
        told = service.about()
        assert set(told) == {
            "instants",
            "first",
            "last",
            "timezone",
            "channels",
            "minimum_group",
            "budget",
            "epsilon",
            "answers",
        }


class TestLog:
    def test_it_has_who_what_and_why_and_no_answer(self, service, tmp_path):
        token = recipient(service, "north")
        value = service.ask(token, Mean(start=1, end=4)).value
        service.ask(token, Count(where=(Window(low=1e9),)))
        first, second = service.register.entries()
        assert (first.token, first.outcome, first.reason, first.cost) == (token.token, "answered", "", 1)
        assert json.loads(first.question) == {"kind": "mean", "start": 1, "end": 4, "where": []}
        assert (second.outcome, second.reason) == ("refused", "below-minimum")
        database = (tmp_path / "closed" / "closed.sqlite").read_bytes()
        assert repr(value).encode() not in database
        assert np.float64(value).tobytes() not in database
        assert np.float64(value).tobytes()[::-1] not in database

    def test_it_is_only_added_to(self, service):
        token = recipient(service)
        service.ask(token, Count())
        for statement in ("update log set reason = 'x'", "delete from log"):
            with (
                pytest.raises(sqlite3.IntegrityError, match="the log is only added to"),
                service.register.database.writing() as connection,
            ):
                connection.execute(statement)
        assert service.register.first_odd() is None

    @pytest.mark.parametrize(
        ("statement", "first"),
        [("update log set question = '{}' where number = 2", 2), ("delete from log where number = 1", 1)],
    )
    def test_what_was_done_to_the_file_from_outside_is_found(self, service, tmp_path, statement, first):
        token = recipient(service)
        for _ in range(3):
            service.ask(token, Count())
        with sqlite3.connect(tmp_path / "closed" / "closed.sqlite") as connection:
            connection.execute("drop trigger log_is_never_changed")
            connection.execute("drop trigger log_is_never_shortened")
            connection.execute(statement)
        connection.close()
        assert service.register.first_odd() == first

    def test_what_was_told_is_on_record_after_a_kill(self, tmp_path):
        closed(tmp_path / "closed", candidate_of(raw_panel()), budget=10_000)
        script = (
            "import sys; from pathlib import Path; from shoal.closed import Closed, Count\n"
            "service = Closed(Path(sys.argv[1])); token = service.find(service.register.create('north', 1)[1])\n"
            "while True: service.ask(token, Count()); print('told', flush=True)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script, tmp_path / "closed"], stdout=subprocess.PIPE, text=True
        )
        told = [process.stdout.readline() for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        service = Closed(tmp_path / "closed")
        n_told = sum(line.strip() == "told" for line in told)
        assert n_told >= 20
        assert n_told <= len(service.register.entries()) <= n_told + 1
        assert service.register.first_odd() is None


NOISE = {"epsilon": 1.0, "epsilon_recipient": 4.0, "epsilon_in_all": 6.0, "lower": 0.0, "upper": 10.0}


class TestNoise:
    def big(self, n=3000):
        return candidate_of(raw_panel(n), k=50)

    def test_the_budget_of_a_recipient_and_of_all_is_kept(self, tmp_path):
        service = closed(tmp_path / "c", self.big(), seed=1, **NOISE)
        north, south = recipient(service, "north"), recipient(service, "south")
        assert [service.ask(north, Count()).reason for _ in range(5)] == [""] * 4 + ["budget"]
        assert [service.ask(south, Mean()).reason for _ in range(3)] == [""] * 2 + ["budget"]
        spent = sum(Fraction(entry.epsilon) for entry in service.register.entries())
        assert spent == 6

    def test_questions_left_are_those_that_every_budget_allows(self, tmp_path):
        service = closed(tmp_path / "c", self.big(), seed=1, **NOISE)
        north, south = recipient(service, "north"), recipient(service, "south")
        assert service.left(north) == 4
        assert [service.ask(north, Count()).questions_left for _ in range(5)] == [3, 2, 1, 0, 0]
        assert (service.left(north), service.left(south)) == (0, 2)

    def test_a_refusal_by_noise_costs_epsilon_and_one_by_type_none(self, tmp_path):
        service = closed(tmp_path / "c", self.big(), seed=1, **NOISE)
        token = recipient(service)
        assert service.ask(token, Count(where=(Range(at=0, low=9.9),))).reason == "below-minimum"
        assert service.ask(token, Count(where=(Range(at=99),))).reason == "not-understood"
        assert [entry.epsilon for entry in service.register.entries()] == [1.0, 0.0]

    def test_answers_are_near_the_truth_and_not_the_truth(self, tmp_path):
        candidate = self.big()
        clipped = np.clip(candidate.private.original.values, 0.0, 10.0)
        settings = ClosedPart(minimum_group=5, **NOISE)
        table = curves_of_subjects(candidate.private.original, 0.0, 10.0)
        noisy = NoisyAnswers(table, settings, insecure_seed=3)
        assert noisy.answer(Mean(start=2, end=2)) == pytest.approx(clipped[:, 2].mean(), abs=0.1)
        assert noisy.answer(Mean(start=2, end=2)) != clipped[:, 2].mean()
        asked = Count(where=(Range(at=4, high=3.0),))
        assert noisy.answer(asked) == pytest.approx((clipped[:, 4] <= 3.0).sum(), abs=30)
        truth = np.quantile(clipped.mean(axis=1), 0.5)
        assert noisy.answer(Quantile(q=0.5)) == pytest.approx(truth, abs=0.3)

    def test_noise_is_fresh_from_the_operating_system(self):
        table = curves_of_subjects(raw_panel(2000), 0.0, 10.0)
        noisy = NoisyAnswers(table, ClosedPart(minimum_group=5, **(NOISE | {"epsilon": 0.2})))
        assert len({noisy.answer(Mean()) for _ in range(8)}) > 1

    def test_a_group_below_the_minimum_is_never_answered_however_often_it_is_asked(self):
        panel = raw_panel(400)
        table = curves_of_subjects(panel, 0.0, 10.0)
        noisy = NoisyAnswers(table, ClosedPart(minimum_group=60, **(NOISE | {"epsilon": 2.0})), insecure_seed=0)
        rng = np.random.default_rng(4)
        below = answered = 0
        for _ in range(2000):
            question = random_question(rng, panel.values)
            true = int(table.select(question.where).sum())
            below += true < 60
            try:
                noisy.answer(question)
            except Refused:
                continue
            answered += 1
            assert true >= 60
        assert below > 200
        assert answered > 100

    def test_the_curve_of_a_subject_is_the_mean_of_its_series_within_the_bounds(self):
        panel = Panel([[1.0, 30.0], [3.0, -5.0], [2.0, 2.0]], subjects=["a", "a", "b"])
        table = curves_of_subjects(panel, 0.0, 10.0)
        assert table.values[..., 0].tolist() == [[2.0, 5.0], [2.0, 2.0]]

    def test_gaps_are_refused(self):
        with pytest.raises(
            ParameterError, match="Differential privacy needs complete series, but 1 values are missing"
        ):
            curves_of_subjects(Panel([[np.nan], [1.0]]), 0.0, 1.0)

    @pytest.mark.parametrize("missing", ["drop-series", "drop-instants", "interpolate:1,drop-series"])
    def test_what_one_subjects_gap_decides_is_refused(self, missing):
        values = np.ones((12, 6))
        values[3, 1:4] = np.nan
        panel = read_panel(values, missing=missing)
        with pytest.raises(ParameterError, match=f"no differential privacy after missing='{missing}': one subject's"):
            curves_of_subjects(panel, 0.0, 10.0)
        values[3, 1:4] = [1.0, np.nan, 1.0]
        assert len(curves_of_subjects(read_panel(values, missing="interpolate:2"), 0.0, 10.0).weights) == 12


def with_arrays(arrays, **changed):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **(arrays | changed))
    return buffer.getvalue()


class TestFolder:
    def test_it_is_for_its_owner_alone(self, service, tmp_path):
        folder = tmp_path / "closed"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {p.stat().st_mode & 0o077 for p in folder.iterdir()} == {0}

    def test_without_noise_it_holds_cells_and_no_reading(self, service, tmp_path):
        kept = np.load(tmp_path / "closed" / "table.npz")["values"]
        raw = raw_panel().values
        assert len(kept) < len(raw) / (MINIMUM - 1)
        assert not np.isin(raw, kept).any()

    def test_a_higher_minimum_than_the_cells_have_is_not_served(self, service, tmp_path):
        path = tmp_path / "closed" / "closed.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"minimum_group": 50}))
        with pytest.raises(InputError, match=r"folder has \d+ observed subjects.* require 50"):
            Closed(tmp_path / "closed")

    def test_what_is_damaged_is_told(self, service, tmp_path):
        place = tmp_path / "closed" / "table.npz"
        content = place.read_bytes()
        with np.load(place) as kept:
            arrays = dict(kept)
        for damage in (
            b"nothing",
            content[:200] + bytes(8) + content[208:],
            with_arrays(arrays, weights=arrays["times"]),
        ):
            place.write_bytes(damage)
            with pytest.raises(InputError, match=r"table\.npz of the closed folder is damaged. Put back a copy"):
                Closed(tmp_path / "closed")
        for name, changed in (
            ("values", arrays["values"].astype(str)),
            ("times", arrays["times"][::-1]),
            ("channels", np.array([1])),
            ("weights", np.zeros_like(arrays["weights"])),
        ):
            place.write_bytes(with_arrays(arrays, **{name: changed}))
            with pytest.raises(InputError, match="is damaged"):
                Closed(tmp_path / "closed")
        (tmp_path / "closed" / "closed.json").write_text("{}x")
        with pytest.raises(InputError, match=r"closed\.json of the closed folder cannot be read as settings"):
            Closed(tmp_path / "closed")

    def test_a_release_is_served_from_a_folder_beside_it(self, tmp_path):
        release_candidate(candidate_of(raw_panel(), k=12), tmp_path / "out", summary="Test.")
        beside = find_closed_folder(tmp_path / "out")
        assert beside == tmp_path / "out.closed"
        assert find_closed_folder(tmp_path / "out") == find_closed_folder(beside) == beside
        assert verify(tmp_path / "out").holds
        service = Closed(beside)
        assert service.ask(recipient(service), Count()).value == 60

    def test_a_release_that_does_not_tell_subjects_apart_or_does_not_verify_is_not_served(self, tmp_path):
        panel = raw_panel(60, subjects=[i // 2 for i in range(60)])
        release_candidate(candidate_of(panel), tmp_path / "several", summary="Test.")
        with pytest.raises(ParameterError, match="does not show which of its series belong to one subject"):
            find_closed_folder(tmp_path / "several")
        release_candidate(candidate_of(raw_panel()), tmp_path / "odd", summary="Test.")
        (tmp_path / "odd" / "more.txt").write_text("x")
        with pytest.raises(ReleaseError, match="No answers from a release that does not verify"):
            find_closed_folder(tmp_path / "odd")
        with pytest.raises(InputError, match="is neither a closed folder"):
            find_closed_folder(tmp_path)

    def test_the_settings_of_noise_need_bounds(self):
        with pytest.raises(ValidationError, match="epsilon needs lower and upper"):
            ClosedPart(epsilon=1.0)
        with pytest.raises(ValidationError, match="lower must be below upper"):
            ClosedPart(lower=2.0, upper=1.0)


POLICY = """
data: {path: meters.parquet}
adversary: {knows: {points: 5}}
require: {risk: {at_most: 0.5}}
method: {name: microaggregation, k: 5}
release: {to: out, model: closed, closed: {minimum_group: 6, budget: 3}}
"""


class TestPolicy:
    def test_a_closed_policy_makes_a_folder_that_answers_and_is_never_replaced(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        assert run(["simulate", "meters", "-o", "meters.parquet", "--n", "60", "--days", "2"]) == 0
        (tmp_path / "policy.yaml").write_text(POLICY)
        assert run(["run", "policy.yaml"]) == 0
        assert "out/release" in capsys.readouterr().out
        assert verify("out/release").holds
        assert load_release("out/release").certificate["counts"]["series"] == 60
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
        service = Closed(tmp_path / "out")
        assert service.settings.minimum_group == 6
        assert service.ask(recipient(service), Count()).value == 60
        assert run(["run", "policy.yaml", "--overwrite"]) == 2
        assert "holds tokens and a log and is never replaced" in capsys.readouterr().err

    def test_where_nothing_is_published_no_folder_is_left(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        assert run(["simulate", "meters", "-o", "meters.parquet", "--n", "60", "--days", "2"]) == 0
        given = POLICY.replace("require: {", "require: {guarantees: [aggregate-rule], ")
        (tmp_path / "policy.yaml").write_text(given)
        assert run(["run", "policy.yaml"]) == 1
        assert not (tmp_path / "out").exists()
