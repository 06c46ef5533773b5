"""A file that is no metric is refused in one line, and nothing but figures gets from it into a certificate."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from shoal import Microaggregation, Panel
from shoal.cli.app import run
from shoal.errors import InputError, ParameterError
from shoal.features import Learned, LinearMetric, metric_file
from shoal.features.figures import KNOWN
from shoal.features.interests import Segment, label_pairs

REFUSED = r"is not a learned metric\. Give a file written by Learned\.save\."
FIGURES = {
    "used": True,
    "n_pairs": 300,
    "n_similar": 100,
    "n_held_out": 90,
    "held_out_learned": 0.9,
    "held_out_euclidean": 0.6,
    "held_out_error": 0.01,
    "seed": 0,
}


def metric(n=6, scale=2.0, figures=FIGURES):
    rng = np.random.default_rng(0)
    return Learned("linear", "values", (n,), rng.normal(size=n), scale, ((np.eye(n), np.zeros(n)),), dict(figures))


@pytest.fixture
def path(tmp_path):
    return metric().save(tmp_path / "metric.npz")


def forged(path, header=(), **changed):
    """Rewritten with other content and a hash that fits it: whoever can write a metric can write its hash."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    said = json.loads(arrays.pop("header").tobytes()) | dict(header)
    arrays |= changed
    forger = object.__new__(Learned)
    layers = tuple((arrays[f"weights_{at}"], arrays[f"bias_{at}"]) for at in range(len(arrays) // 2))
    for name in ("kind", "inputs", "shape", "scale", "figures"):
        object.__setattr__(forger, name, said[name])
    object.__setattr__(forger, "centre", arrays["centre"])
    object.__setattr__(forger, "layers", layers)
    said["sha256"] = forger.digest()
    np.savez(path, header=np.frombuffer(json.dumps(said).encode(), dtype=np.uint8), **arrays)
    return path


def with_header(path, text):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(path, **(arrays | {"header": np.frombuffer(text.encode(), dtype=np.uint8)}))
    return path


def header_of(path):
    with np.load(path) as file:
        return file["header"].tobytes().decode()


def test_this_forger_can_forge(path):
    """Else the refusals below would be about his mistakes."""
    assert Learned.load(forged(path)).digest() == metric().digest()
    assert Learned.load(forged(path, {"figures": FIGURES | {"n_pairs": 7}})).figures["n_pairs"] == 7


@pytest.mark.parametrize("learned", [{}, {"form": "full"}, {"objective": "xing"}, {"form": "diagonal", "penalty": 0}])
def test_the_figures_that_learning_writes_are_known(tmp_path, learned):
    days = np.random.default_rng(4).normal(size=(40, 6))
    found = LinearMetric(**learned).learn(*label_pairs(days, Segment(2, 4)))
    assert set(found.figures) <= set(KNOWN)
    assert Learned.load(found.save(tmp_path / "x.npz")).figures == found.figures


WRONG_FIGURES = [
    {"n_pairs": "Jane Doe, 12 Elm Street"},
    {"n_pairs": True},
    {"n_pairs": -1},
    {"n_pairs": 2**70},
    {"n_pairs": [1, 2]},
    {"n_held_out": 12.5},
    {"held_out_learned": "0.9"},
    {"held_out_learned": 1},
    {"held_out_euclidean": 1.5},
    {"held_out_error": float("nan")},
    {"held_out_error": float("inf")},
    {"seed": "Jane Doe"},
    {"seed": 2**130},
    {"used": 1},
    {"used": "yes"},
    {"form": "Jane Doe"},
    {"form": ["full"]},
    {"objective": "Jane Doe"},
    {"hidden": ["Jane Doe"]},
    {"hidden": [74, 97, 110, 101]},
    {"note": "Jane Doe"},
    {"Jane Doe": 1},
]


@pytest.mark.parametrize("wrong", WRONG_FIGURES)
def test_other_figures_are_refused_in_a_file_and_in_a_recipe(path, wrong):
    with pytest.raises(InputError, match=REFUSED) as caught:
        Learned.load(forged(path, {"figures": FIGURES | wrong}))
    assert "Jane" not in str(caught.value)
    with pytest.raises(ParameterError, match="This is not a learned metric: its figures are not the counts"):
        metric(figures=FIGURES | wrong)
    learned = metric()
    learned.figures.update(wrong)
    for use in (lambda: learned.entry, lambda: learned.save(path)):
        with pytest.raises(ParameterError, match="This is not a learned metric: its figures are not") as told:
            use()
        assert "Jane" not in str(told.value)
    with pytest.raises(ParameterError, match="This is not a learned metric"):
        _ = Microaggregation(k=2, features=learned).anonymize(Panel(np.eye(6))).recipe


@pytest.mark.parametrize("figures", [["Jane"], "Jane", None])
def test_figures_that_are_no_table_are_refused(path, figures):
    with pytest.raises(InputError, match=REFUSED):
        Learned.load(forged(path, {"figures": figures}))


NAN = np.array([0.0, np.nan, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"scale": float("nan")}, {}),
        ({"scale": 0.0}, {}),
        ({"scale": -1.0}, {}),
        ({"scale": 1e-310}, {}),
        ({"scale": float("inf")}, {}),
        ({"scale": "2.0"}, {}),
        ({"scale": True}, {}),
        ({}, {"centre": NAN}),
        ({}, {"bias_0": NAN}),
        ({}, {"weights_0": np.diag([1.0, np.inf, 1.0, 1.0, 1.0, 1.0])}),
    ],
)
def test_numbers_that_are_none_are_refused(path, header, arrays):
    with pytest.raises(InputError, match=REFUSED):
        Learned.load(forged(path, header, **arrays))


@pytest.mark.parametrize("scale", [0.0, float("nan"), float("inf"), 1e-310, -2.0])
def test_a_metric_without_a_scale_is_none(scale):
    with pytest.raises(ParameterError, match="needs finite weights and centre and a scale above 0"):
        metric(scale=scale)
    with pytest.raises(ParameterError, match="needs finite weights and centre and a scale above 0"):
        Learned("linear", "values", (6,), NAN, 1.0, ((np.eye(6), np.zeros(6)),), {})


def test_features_that_overflow_are_refused_by_position():
    days = np.ones((4, 6))
    days[2] = 1e308
    learned = metric(scale=1e-3)
    assert np.isfinite(learned.transform(days[:2])).all()
    with pytest.raises(ParameterError, match=r"features of 1 of 4 series are not finite, the first at position 2\."):
        learned.transform(days)


@pytest.mark.parametrize(
    "header",
    [
        lambda text: text.replace('"layers": 1', '"layers": 1e999'),
        lambda text: text.replace('"layers": 1', '"layers": 1.0'),
        lambda text: text.replace('"layers": 1', '"layers": true'),
        lambda text: text.replace('"layers": 1', '"layers": 4611686018427387904'),
        lambda text: text.replace('"layers": 1', '"layers": 0'),
        lambda text: text.replace('"shape": [6]', '"shape": [1e999]'),
        lambda text: text.replace('"shape": [6]', '"shape": [-2, -3]'),
        lambda text: text.replace('"shape": [6]', '"shape": [1, 2, 3]'),
        lambda text: text.replace('"scale": 2.0', '"scale": 1e999'),
        lambda text: text.replace('"seed": 0', '"seed": ' + "9" * 5000),
        lambda text: text.replace('"linear"', '["linear"]'),
        lambda text: "[" * 200_000,
        lambda text: "",
    ],
)
def test_a_header_that_is_none_is_refused(path, header):
    changed = header(header_of(path))
    assert changed != header_of(path)
    with pytest.raises(InputError, match=REFUSED):
        Learned.load(with_header(path, changed))


def array_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def claiming(shape, dtype="<f8"):
    """An array that says it is larger than it is."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(64)


def entries(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def rewrite(path, content, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in content.items():
            file.writestr(name, data)


def broken_deflate(path):
    content = entries(path)
    rewrite(path, content, zipfile.ZIP_DEFLATED)
    whole = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        at = file.getinfo("centre.npy").header_offset + 30 + len("centre.npy")
    whole[at : at + 8] = b"\xff" * 8
    path.write_bytes(whole)


def marked(path, local, central, value):
    """One byte set in every heading of an entry, at its two places."""
    whole = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        found = whole.find(mark)
        while found >= 0:
            whole[found + at] |= value
            found = whole.find(mark, found + 4)
    path.write_bytes(whole)


SPOILT = {
    "a broken deflate": broken_deflate,
    "an encrypted entry": lambda path: marked(path, 6, 8, 1),
    "an unknown compression": lambda path: marked(path, 8, 10, 99),
    "a compressed entry": lambda path: rewrite(path, entries(path), zipfile.ZIP_DEFLATED),
    "an array that claims more": lambda path: rewrite(path, entries(path) | {"centre.npy": claiming((10**12,))}),
    "an array that claims less": lambda path: rewrite(path, entries(path) | {"centre.npy": claiming((6,))}),
    "a shape below 0": lambda path: rewrite(path, entries(path) | {"centre.npy": claiming((-2, -4))}),
    "objects": lambda path: rewrite(path, entries(path) | {"centre.npy": claiming((8,), "|O")}),
    "complex numbers": lambda path: rewrite(path, entries(path) | {"centre.npy": array_bytes(np.ones(6) * 1j)}),
    "an array too many": lambda path: rewrite(path, entries(path) | {"more.npy": array_bytes(np.ones(3))}),
    "an array too few": lambda path: rewrite(path, {"header.npy": entries(path)["header.npy"]}),
    "one array alone": lambda path: path.write_bytes(array_bytes(np.ones(6))),
    "no array": lambda path: rewrite(path, entries(path) | {"centre.npy": b"hello"}),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_no_metric_holds_is_refused(path, spoil):
    before = path.read_bytes()
    spoil(path)
    assert path.read_bytes() != before
    with pytest.raises(InputError, match=REFUSED):
        Learned.load(path)


def test_a_small_file_that_holds_a_large_array_is_refused_unread(path, monkeypatch):
    assert metric_file.LARGEST == 1 << 30
    monkeypatch.setattr(metric_file, "LARGEST", 1 << 26)
    content = entries(path)
    head = claiming((1 << 24,))[:-64]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content.items():
            if name != "centre.npy":
                file.writestr(name, data)
        with file.open("centre.npy", "w", force_zip64=True) as entry:
            entry.write(head)
            entry.write(bytes(1 << 27))
    assert path.stat().st_size < 400_000
    tracemalloc.start()
    with pytest.raises(InputError, match=r"metric\.npz holds more than 67108864 bytes, the limit for a learned metric"):
        Learned.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_a_metric_that_could_not_be_read_is_not_written(path, monkeypatch):
    monkeypatch.setattr(metric_file, "LARGEST", 100)
    with pytest.raises(ParameterError, match="A learned metric may have at most 100 bytes, but this one has more"):
        metric().save(path)
    monkeypatch.setattr(metric_file, "LARGEST", 10)
    with pytest.raises(InputError, match="holds more than 10 bytes"):
        Learned.load(path)


def test_on_the_command_line_it_is_one_line(path, tmp_path, capsys):
    rows = "\n".join(f"{i},{t},{(i * 7 + t) % 5}" for i in range(8) for t in range(6))
    (tmp_path / "x.csv").write_text(f"id,time,value\n{rows}\n")
    forged(path, {"figures": FIGURES | {"n_pairs": "Jane Doe"}})
    arguments = ["anonymize", str(tmp_path / "x.csv"), "--k", "2", "--features", str(path), "-o", str(tmp_path / "out")]
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "is not a learned metric" in printed.err
    assert "Jane" not in printed.err
    assert not (tmp_path / "out").exists()


def test_a_metric_is_for_its_owner_alone(tmp_path):
    target = tmp_path / "metric.npz"
    target.touch(mode=0o644)
    assert metric().save(target).stat().st_mode & 0o777 == 0o600
