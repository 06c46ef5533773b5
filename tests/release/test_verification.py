import json

import polars as pl
import pytest

from shoal import load_release, verify
from shoal.errors import ReleaseError
from shoal.release.certificate import Certificate, digest_file


def edit(out, change, name="data.parquet"):
    table = pl.read_parquet(out / name)
    change(table).write_parquet(out / name)


def reseal(out):
    """What a forger would do: make the certificate agree with the edited file."""
    content = json.loads((out / "release.json").read_text())
    content["files"]["data.parquet"] = digest_file(out / "data.parquet").model_dump()
    (out / "release.json").write_bytes(Certificate.model_validate(content).sealed().as_bytes())


@pytest.mark.parametrize("row", [0, 13, 40, 83])
@pytest.mark.parametrize("forged", [False, True])
def test_one_edited_value_is_found_with_its_position(out, row, forged):
    edit(out, lambda t: t.with_columns(value=t["value"].scatter(row, t["value"][row] + 1e-9)))
    if forged:
        reseal(out)
    outcome = verify(out)
    assert not outcome
    position = f"series {row // 6} is alone at 1 instant(s), the first is instant {row % 6} (data.parquet row {row};"
    assert position in outcome.findings[-1]
    assert ("SHA-256" in outcome.findings[0]) != forged


def test_swapped_rows_are_found_by_their_hash(out):
    edit(out, lambda t: t.reverse())
    assert not verify(out).holds


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda t: t.head(-1), "no longer a whole panel"),
        (lambda t: t.head(-6), "the data has 13 series of 6 instants, release.json says 14 of 6"),
        (lambda t: t.with_columns(time=t["time"].scatter(8, t["time"][9])), "series 1 is not at the instants"),
        (lambda t: t.filter(t["id"] == "nobody"), "no longer a whole panel"),
    ],
)
def test_missing_and_moved_rows_are_found(out, change, finding):
    edit(out, change)
    assert any(finding in f for f in verify(out).findings)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"required": 3', '"required": 2'),
        lambda text: text.replace('"k": 3', '"k": 2'),
        lambda text: text + "\n",
        lambda text: text.replace("  ", " ", 1),
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"shoal"', '"fish"'),
    ],
)
def test_any_edit_of_the_certificate_is_found(out, change):
    text = (out / "release.json").read_text()
    assert change(text) != text
    (out / "release.json").write_text(change(text))
    assert verify(out).findings == (
        "release.json was changed after the release: its content and its seal do not agree",
    )
    with pytest.raises(ReleaseError, match=r"release\.json was changed after the release"):
        load_release(out)


@pytest.mark.parametrize("keep", [0, 3, 0.5, 0.99])
def test_a_truncated_table_cannot_be_read(out, keep):
    content = (out / "data.parquet").read_bytes()
    (out / "data.parquet").write_bytes(content[: keep if isinstance(keep, int) else int(keep * len(content))])
    with pytest.raises(ReleaseError, match=r"data\.parquet cannot be read: it is truncated"):
        verify(out)


def test_a_table_with_other_columns_cannot_be_read(out):
    edit(out, lambda t: t.rename({"value": "kwh"}))
    with pytest.raises(ReleaseError, match=r"data\.parquet cannot be read"):
        verify(out)


def test_a_missing_file_is_told(out):
    (out / "report.html").unlink()
    for read in (verify, load_release):
        with pytest.raises(ReleaseError, match=r"incomplete: report\.html is missing"):
            read(out)


def test_a_file_that_was_put_in_is_found(out):
    (out / "originals.csv").write_text("id,time,value\n")
    assert verify(out).findings == ("the folder holds 1 file(s) that release.json does not name",)


def test_a_changed_report_is_found(out):
    (out / "report.html").write_text("all is well")
    assert "report.html was changed" in verify(out).findings[0]


@pytest.mark.parametrize("read", [verify, load_release])
def test_a_folder_without_certificate_is_no_release(tmp_path, read):
    with pytest.raises(ReleaseError, match=r"is not a release: it has no release\.json"):
        read(tmp_path)
