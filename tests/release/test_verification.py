import polars as pl
import pytest

from forgery import reseal
from shoal import load_release, verify
from shoal.errors import ReleaseError
from shoal.release import release_candidate


def edit(out, change, name="data.parquet"):
    table = pl.read_parquet(out / name)
    change(table).write_parquet(out / name)


def test_a_file_whose_library_has_no_readable_name_is_found(out):
    path = out / "data.parquet"
    content = path.read_bytes()
    at = content.rindex(b"parquet-cpp")
    path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    reseal(out)
    assert any("note(s) in its metadata" in finding for finding in verify(out).findings)


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


def to_raw(out):
    edit(out, lambda t: t.with_columns(value=pl.Series([float(i) for i in range(len(t))])))


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({}, "k-anonymity does not hold"),
        ({"guarantees": []}, "names no guarantee that can be checked"),
        ({"guarantees__0__checked_by": "publisher"}, "k-anonymity does not hold"),
    ],
)
def test_a_forger_cannot_talk_the_check_away(out, changes, finding):
    to_raw(out)
    reseal(out, **changes)
    assert any(finding in f for f in verify(out).findings)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"guarantees__0__verdict__holds": False}, "itself says that k-anonymity does not hold"),
        ({"counts__group_sizes": {"999": 1}}, "do not match the counts in release.json"),
        ({"counts__missing": 5}, "the data has 0 missing values, release.json says 5"),
    ],
)
def test_claims_that_the_data_contradicts_are_found(out, changes, finding):
    reseal(out, **changes)
    assert any(finding in f for f in verify(out).findings)


def test_a_further_column_is_not_accepted(out):
    edit(out, lambda t: t.with_columns(name=pl.lit("alice")))
    reseal(out)
    with pytest.raises(ReleaseError, match="has other columns"):
        verify(out)


@pytest.mark.parametrize("name", ["data.parquet", "report.html"])
@pytest.mark.parametrize("kind", ["folder", "link", "dangling link"])
def test_only_plain_files_are_accepted(out, name, kind):
    (out / name).rename(out.parent / name)
    if kind == "folder":
        (out / name).mkdir()
    else:
        (out / name).symlink_to(out.parent / (name if kind == "link" else "nowhere"))
    with pytest.raises(ReleaseError, match="is missing or not a plain file"):
        verify(out)


def test_an_infinite_value_is_found_with_its_position(out):
    edit(out, lambda t: t.with_columns(value=t["value"].scatter(7, float("inf"))))
    assert "row 7 (counted from 0) holds an infinite value" in verify(out).findings[-1]


def test_text_in_a_csv_is_found_with_its_position(tmp_path, candidate):
    release_candidate(candidate, tmp_path / "csv", summary="Test.", format="csv")
    path = tmp_path / "csv" / "data.csv"
    lines = path.read_text().splitlines()
    lines[10] = lines[10].rsplit(",", 1)[0] + ",abc"
    path.write_text("\n".join(lines) + "\n")
    assert "row 9 (counted from 0) holds something that is no number" in verify(tmp_path / "csv").findings[-1]


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
        with pytest.raises(ReleaseError, match=r"incomplete: report\.html is missing or not a plain file"):
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


def test_accepted_findings_that_no_lint_has_are_found(out):
    reseal(out, accepted=["timestamp-phase"])
    assert verify(out).holds
    reseal(out, accepted=["\x1b[2Jverdict holds"])
    (finding,) = verify(out).findings
    assert finding == "release.json names 1 accepted finding(s) that no lint has"
