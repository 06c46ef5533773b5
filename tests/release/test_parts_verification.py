"""Whatever is done to a release in parts is found, by its digests and without them."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from parts_examples import repeated_candidate
from shoal import verify
from shoal.cli.app import run
from shoal.engines import Local
from shoal.release.certificate import Certificate, digest_file
from shoal.release.parts import release_blocks
from shoal.release.parts_names import parts_of


@pytest.fixture(scope="module")
def local():
    with Local(memory="64MB") as engine:
        yield engine


@pytest.fixture(scope="module")
def made(local, tmp_path_factory):
    """Sixty series of six instants in four parts; seed 2 leaves none of them with one series."""
    out = tmp_path_factory.mktemp("made") / "out"
    release_blocks(
        repeated_candidate(local), out, summary="Test.", part_bytes=1024, insecure_seed=2, page=lambda _: "<p>x</p>"
    )
    assert len(list((out / "data.parquet").iterdir())) == 4
    return out


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def part(out, number):
    return out / "data.parquet" / f"part-{number:05}.parquet"


def reseal(out, **changes):
    """What a forger would do: make the certificate agree with the folder, and say more than is true."""
    content = json.loads((out / "release.json").read_text())
    for path, value in changes.items():
        *folders, last = path.split("__")
        place = content
        for folder in folders:
            place = place[int(folder) if folder.isdigit() else folder]
        place[last] = value
    files = {name: value for name, value in content["files"].items() if not name.startswith("data.parquet/")}
    for path in sorted((out / "data.parquet").iterdir()):
        files[f"data.parquet/{path.name}"] = digest_file(path).model_dump()
    content["files"] = files
    (out / "release.json").write_bytes(Certificate.model_validate(content).sealed().as_bytes())


def edit(path, change):
    """Write a part again, in the very way it was written."""
    table = pq.read_table(path)
    changed = change(pl.DataFrame(table)).to_arrow().cast(table.schema)
    pq.write_table(changed, path, compression="zstd")


def add_to_value(row):
    return lambda t: t.with_columns(value=t["value"].scatter(row, t["value"][row] + 1e-9))


def swap(out):
    one, other = part(out, 0), part(out, 1)
    one.rename(out / "aside")
    other.rename(one)
    (out / "aside").rename(other)


def move_series(out):
    """The last series of the first part goes to the last part."""
    moved = pl.read_parquet(part(out, 0)).tail(6)
    edit(part(out, 0), lambda t: t.head(-6))
    edit(part(out, 3), lambda t: pl.concat([t, moved]))


def truncate(out):
    content = part(out, 1).read_bytes()
    part(out, 1).write_bytes(content[: len(content) // 2])


def empty(out):
    edit(part(out, 1), lambda t: t.head(0))


def link(out):
    part(out, 1).rename(out.parent / "elsewhere")
    part(out, 1).symlink_to(out.parent / "elsewhere")


def link_folder(out):
    (out / "data.parquet").rename(out.parent / "elsewhere")
    (out / "data.parquet").symlink_to(out.parent / "elsewhere")


SABOTAGE = {
    "a value changed": (lambda out: edit(part(out, 2), add_to_value(3)), "k-anonymity does not hold: measured 1"),
    "a part removed": (lambda out: part(out, 1).unlink(), "the data has"),
    "the first part removed": (lambda out: part(out, 0).unlink(), "the data has"),
    "a part doubled": (
        lambda out: shutil.copy(part(out, 1), part(out, 9)),
        "not in order, or have a series in common",
        {"counts__series": 69},
    ),
    "more rows than are counted": (
        lambda out: shutil.copy(part(out, 1), part(out, 9)),
        "the parts of data.parquet have 414 rows, release.json counts 360",
    ),
    "a part renamed": (lambda out: part(out, 1).rename(part(out, 7)), "not in order, or have a series in common"),
    "two parts swapped": (swap, "not in order, or have a series in common"),
    "a series moved to another part": (move_series, "not in the order of their pseudonyms, or twice"),
    "a series there twice": (
        lambda out: edit(part(out, 1), lambda t: pl.concat([t, t.tail(6)])),
        "not in the order of their pseudonyms, or twice",
        {"counts__series": 61},
    ),
    "a row removed": (lambda out: edit(part(out, 1), lambda t: t.head(-1)), "no longer a whole panel"),
    "a series removed": (lambda out: edit(part(out, 1), lambda t: t.head(-6)), "the data has 59 series of 6 instants"),
    "rows in another order": (lambda out: edit(part(out, 1), lambda t: t.reverse()), "is not at the instants"),
    "an instant moved": (
        lambda out: edit(part(out, 2), lambda t: t.with_columns(time=t["time"].scatter(8, t["time"][9]))),
        "series 1 is not at the instants of the first one",
    ),
    "an infinite value": (
        lambda out: edit(part(out, 3), lambda t: t.with_columns(value=t["value"].scatter(7, np.inf))),
        "series 1 holds an infinite value",
    ),
    "a gap": (
        lambda out: edit(part(out, 3), lambda t: t.with_columns(value=t["value"].scatter(7, None))),
        "the data has 1 missing values, release.json says 0",
    ),
    "a name removed": (
        lambda out: edit(part(out, 3), lambda t: t.with_columns(id=t["id"].scatter(7, None))),
        "has rows without a name or an instant",
    ),
    "a part truncated": (truncate, "cannot be read: it is truncated"),
    "an empty part": (empty, "is empty"),
    "numbers of another kind": (
        lambda out: pl.read_parquet(part(out, 1)).cast({"value": pl.Float32}).write_parquet(part(out, 1)),
        "has another type in column 'value' than Shoal writes",
    ),
    "a further column": (
        lambda out: pl.read_parquet(part(out, 1)).with_columns(x=pl.lit("a")).write_parquet(part(out, 1)),
        "has other columns than were released",
    ),
}


@pytest.mark.parametrize("forged", [False, True], ids=["as it is", "with a certificate to match"])
@pytest.mark.parametrize("name", SABOTAGE)
def test_every_change_is_found(out, local, name, forged):
    change, finding, *claims = SABOTAGE[name]
    change(out)
    if forged:
        reseal(out, **(claims[0] if claims else {}))
    outcome = verify(out, engine=local)
    assert not outcome.holds
    if forged:
        assert any(finding in found for found in outcome.findings), outcome.findings
        assert not any("SHA-256" in found for found in outcome.findings)
    else:
        words = ("SHA-256", "missing, or no plain file", "does not name")
        assert any(word in found for word in words for found in outcome.findings)


@pytest.mark.parametrize("change", [link, link_folder])
def test_links_are_not_followed(out, local, change):
    change(out)
    assert any("missing, or no plain file" in finding for finding in verify(out, engine=local).findings)


@pytest.mark.parametrize(
    "place", ["more.txt", "data.parquet/.hidden", "data.parquet/more/part-00000.parquet", "empty/"]
)
def test_whatever_else_lies_there_is_found(out, local, place):
    path = out / place
    (path if place.endswith("/") else path.parent).mkdir(exist_ok=True)
    if not place.endswith("/"):
        path.write_text("x")
    assert "the folder holds 1 file(s) that release.json does not name" in verify(out, engine=local).findings


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"guarantees": []}, "names no guarantee that can be checked"),
        ({"guarantees__0__verdict__holds": False}, "itself says that k-anonymity does not hold"),
        ({"guarantees__0__parameters__k": 5}, "k-anonymity does not hold"),
        ({"counts__group_sizes": {"999": 1}}, "not those that release.json counts"),
        ({"counts__groups": 21}, "does not sum up its own group sizes rightly"),
        ({"counts__missing": 5}, "the data has 0 missing values, release.json says 5"),
        ({"counts__instants": 7}, "the data has 60 series of 6 instants, release.json says 60 of 7"),
        ({"counts__instants": 5}, "the parts of data.parquet have 360 rows, release.json counts 300"),
        ({"counts__instants": 5, "counts__series": 99}, "no longer a whole panel"),
        ({"files__data.csv": {"sha256": "0", "bytes": 1}}, "names 1 file(s) that no release of this form has"),
        ({"files__../../etc/passwd": {"sha256": "0", "bytes": 1}}, "names 1 file(s) that no release of this form has"),
    ],
)
def test_claims_that_the_data_contradicts_are_found(out, local, changes, finding):
    reseal(out, **changes)
    findings = verify(out, engine=local).findings
    assert any(finding in found for found in findings), findings


def test_an_edited_certificate_is_found(out):
    text = (out / "release.json").read_text()
    (out / "release.json").write_text(text.replace('"series": 60', '"series": 61'))
    assert "its content and its seal do not agree" in verify(out).findings[0]


def test_the_command_finds_it_too_and_says_so(out, capsys):
    assert run(["verify", str(out)]) == 0
    edit(part(out, 2), add_to_value(3))
    assert run(["verify", str(out), "--engine", "local", "--memory", "64MB"]) == 1
    assert "data.parquet/part-00002.parquet was changed after the release" in capsys.readouterr().out


def test_parts_are_listed_in_the_order_of_their_names(made):
    names = json.loads((made / "release.json").read_text())["files"]
    assert parts_of(names) == [f"data.parquet/part-{i:05}.parquet" for i in range(4)]
    assert [Path(name).suffix for name in names] == [".parquet"] * 4 + [".html"]
