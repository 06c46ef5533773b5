"""What `shoal verify` finds in the folder of a stream, and that it notices every change of it."""

import hashlib
import json
import shutil

import polars as pl
import pytest

from naive.event_groups import naive_bucketised, naive_generalised
from shoal import LDiversity, MInvariance, load_release, verify
from shoal.cli.app import run
from shoal.errors import GuaranteeNotMetError, ReleaseError
from shoal.model import Recipe
from shoal.release.certificate import FILE_NAME, Certificate
from shoal.release.stream_gate import certify_in_place
from shoal.release.stream_index import INDEX_FILE
from stream_processes import events

COLUMNS = ["--sensitive", "diagnosis", "--quasi", "age", "--quasi", "region"]


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    """Two folders of a stream that has ended: Parquet and bucketised, CSV and generalised."""
    folder = tmp_path_factory.mktemp("streamed")
    source = folder / "source"
    source.mkdir()
    lines = [json.loads(line) for line in events(20, 12).splitlines() if line not in ("", "{")]
    pl.DataFrame(lines).write_csv(source / "a.csv")
    for name, options in (("parquet", []), ("csv", ["--format", "csv", "--publish", "generalised"])):
        arguments = ["stream", source, "--l", 3, "--window", 4, "--seed", 5, *COLUMNS, *options]
        assert run([str(a) for a in (*arguments, "-o", folder / name, "--private", folder / f"keep-{name}")]) == 0
    return folder


@pytest.fixture(params=["parquet", "csv"])
def out(request, streamed, tmp_path):
    return shutil.copytree(streamed / request.param, tmp_path / "out")


def resealed(out, change):
    """The certificate after a change, with a seal that fits: whoever can write can seal."""
    content = json.loads((out / FILE_NAME).read_text())
    change(content)
    (out / FILE_NAME).write_bytes(Certificate.model_validate(content).sealed().as_bytes())


def reindexed(out, change):
    """The index after a change of its lines, with its digest in a certificate that is sealed again."""
    lines = [json.loads(line) for line in (out / INDEX_FILE).read_text().splitlines()]
    change(lines)
    content = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    (out / INDEX_FILE).write_bytes(content)
    digest = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    resealed(out, lambda certificate: certificate["files"].update({INDEX_FILE: digest}))


def fresh_digest(path):
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def first_with_events(out, n=3):
    lines = [json.loads(line) for line in (out / INDEX_FILE).read_text().splitlines()]
    return [line for line in lines if line["events"]][n]


def table(path):
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)


def write(frame, path):
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)


def test_a_stream_verifies_and_says_what_it_promises(out, capsys):
    found = verify(out)
    assert found.holds, found.findings
    assert [name for name, _ in found.verdicts] == ["l-diversity"]
    assert run(["verify", str(out)]) == 0
    assert "l-diversity" in capsys.readouterr().out


def test_what_is_certified_is_what_a_naive_count_finds(out):
    certificate = json.loads((out / FILE_NAME).read_text())
    published = load_release(out).published
    assert len(published) == certificate["counts"]["events"]
    records = published.records.to_dicts()
    if published.counts is None:
        groups = naive_generalised(records, "diagnosis")
    else:
        groups = naive_bucketised(records, published.counts.to_dicts(), "diagnosis")
    least = min(size / most for size, most in groups.values())
    assert least == pytest.approx(certificate["guarantees"][0]["verdict"]["measured"], abs=1e-3)
    assert least >= 3


def test_every_changed_byte_is_noticed(out):
    for path in sorted(out.iterdir())[::5]:
        content = path.read_bytes()
        path.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
        assert not verify(out).holds, path.name
        path.write_bytes(content)
    assert verify(out).holds


def test_a_file_that_is_added_is_noticed(out):
    (out / "data-00000099.parquet").write_bytes(b"PAR1")
    assert "1 file(s)" in verify(out).findings[0]


def test_a_snapshot_that_is_removed_is_noticed_even_where_index_and_seal_agree(out):
    number = first_with_events(out)["number"]
    for path in out.glob(f"*-{number:08d}.*"):
        path.unlink()
    assert any("missing" in finding for finding in verify(out).findings)
    reindexed(out, lambda lines: lines.pop(number - 1))
    assert any("each once" in finding for finding in verify(out).findings)
    resealed(out, lambda content: content["stream"].update(snapshots=content["stream"]["snapshots"] - 1))
    assert not verify(out).holds


def test_a_snapshot_that_is_doubled_is_noticed_even_where_index_and_seal_agree(out):
    first = first_with_events(out)
    last = json.loads((out / INDEX_FILE).read_text().splitlines()[-1])["number"]
    copies = {}
    for name, digest in first["files"].items():
        copy = name.replace(f"{first['number']:08d}", f"{last + 1:08d}")
        shutil.copy(out / name, out / copy)
        copies[copy] = digest
    assert not verify(out).holds
    reindexed(out, lambda lines: lines.append(first | {"number": last + 1, "files": copies}))
    resealed(out, lambda content: content["stream"].update(snapshots=content["stream"]["snapshots"] + 1))
    assert any("not later" in finding for finding in verify(out).findings)


def test_a_value_that_breaks_diversity_is_noticed_even_where_all_digests_agree(out):
    line = first_with_events(out)
    name = next(n for n in line["files"] if n.startswith("sensitive" if len(line["files"]) == 2 else "data"))
    frame = table(out / name)
    write(frame.with_columns(diagnosis=pl.lit(frame["diagnosis"][0])), out / name)

    def digest(lines):
        lines[line["number"] - 1]["files"][name] = fresh_digest(out / name)

    reindexed(out, digest)
    assert any("l-diversity" in finding for finding in verify(out).findings)
    assert run(["verify", str(out)]) == 1


def test_a_certificate_that_promises_more_than_the_data_keeps_is_noticed(out):
    def promise(content):
        content["guarantees"][0]["parameters"]["l"] = 7
        content["guarantees"][0]["verdict"]["required"] = 7

    resealed(out, promise)
    assert not verify(out).holds


def test_rows_in_another_order_are_noticed(out):
    line = first_with_events(out)
    name = next(n for n in line["files"] if n.startswith("data"))
    write(table(out / name).reverse(), out / name)

    def digest(lines):
        lines[line["number"] - 1]["files"][name] = fresh_digest(out / name)

    reindexed(out, digest)
    assert any("not sorted" in finding for finding in verify(out).findings)


def test_a_folder_that_an_engine_has_written_gets_the_same_certificate(streamed, tmp_path):
    out = shutil.copytree(streamed / "parquet", tmp_path / "out")
    for name in (FILE_NAME, INDEX_FILE):
        (out / name).unlink()
    with pytest.raises(ReleaseError, match=r"no release.json"):
        verify(out)
    for _ in range(2):
        certify_in_place(
            out,
            (LDiversity(3),),
            Recipe("reposition", json.loads((out / "summary.json").read_text())["method"]["parameters"]),
            quasi=("age", "region"),
            sensitive="diagnosis",
            n_withheld=0,
        )
        assert {path.name: path.read_bytes() for path in out.iterdir()} == {
            path.name: path.read_bytes() for path in (streamed / "parquet").iterdir()
        }


def test_the_gate_refuses_what_does_not_keep_its_promise(streamed, tmp_path):
    out = shutil.copytree(streamed / "parquet", tmp_path / "out")
    for name in (FILE_NAME, INDEX_FILE):
        (out / name).unlink()
    with pytest.raises(GuaranteeNotMetError, match="as it reads back from its file"):
        certify_in_place(
            out, (LDiversity(9),), Recipe("x", {}), quasi=("age", "region"), sensitive="diagnosis", n_withheld=0
        )
    assert not (out / FILE_NAME).exists()


def test_the_gate_refuses_snapshots_that_nobody_judged_with_the_originals(streamed, tmp_path):
    out = shutil.copytree(streamed / "parquet", tmp_path / "out")
    for name in (FILE_NAME, INDEX_FILE):
        (out / name).unlink()
    both = (LDiversity(3), MInvariance(2))
    columns = {"quasi": ("age", "region"), "sensitive": "diagnosis", "n_withheld": 0}
    with pytest.raises(GuaranteeNotMetError, match="does not keep m-invariance"):
        certify_in_place(out, both, Recipe("x", {}), **columns)
    assert not (out / FILE_NAME).exists()
