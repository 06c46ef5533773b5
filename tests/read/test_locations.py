"""Where a table lies, and what an archive may not do."""

import gzip
import io
import os
import zipfile

import pytest

from read.support import SECRETS, refused
from shoal.read import archives
from shoal.read.files import read_header
from shoal.read.locations import locate
from shoal.read.source_files import kind_of_bytes

ID = SECRETS[0]
TEXT = b"time,value\n2024-01-01,1\n"


def pack(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_files_of_a_folder_come_in_order_without_what_lies_beside_them(tmp_path):
    for name in ("b.csv", "a.csv.gz", "_SUCCESS", ".c.csv", "README.md"):
        (tmp_path / name).write_bytes(gzip.compress(TEXT) if name.endswith("gz") else TEXT)
    found = locate(tmp_path)
    assert [file.stem for file in found] == ["a", "b"]
    assert [file.head() for file in found] == [TEXT, TEXT]
    assert [file.path is None for file in found] == [True, False]


def test_the_header_of_a_packed_file_is_read_by_its_path(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT))
    assert read_header(tmp_path / "a.csv.gz") == (["time", "value"], ",", 1)


def test_members_of_a_zip_are_files_and_can_be_read_again(tmp_path):
    members = {"x/m-2.csv": TEXT, "x/m-1.csv": TEXT, "__MACOSX/x/m-1.csv": b"\0", "x/readme.md": b"?"}
    found = locate(pack(tmp_path / "meters.bin", members))
    assert [file.stem for file in found] == ["m-1", "m-2"]
    with found[0].open() as stream:
        first = stream.read()
        stream.seek(0)
        assert stream.read() == first == TEXT


def test_archives_inside_archives_are_refused(tmp_path):
    inner = io.BytesIO()
    pack(inner, {"m.csv": TEXT})
    for name, content in (("m.zip", inner.getvalue()), ("m.csv", gzip.compress(TEXT))):
        with refused("holds a packed file inside a packed file"):
            locate(pack(tmp_path / "x.zip", {name: content}))
    (tmp_path / "y.gz").write_bytes(gzip.compress(gzip.compress(TEXT)))
    with refused("holds a packed file inside a packed file"):
        locate(tmp_path / "y.gz")


def test_bombs_are_refused_by_ratio_and_by_total(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "FREE_UNPACKED", 1 << 20)
    zeros = bytes(8 << 20)
    with refused("unpacks to far more than tables do"):
        locate(pack(tmp_path / "x.zip", {f"{ID}.csv": zeros}))
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(zeros))
    with refused("unpacks to far more than tables do"), locate(tmp_path / "x.csv.gz")[0].open() as stream:
        stream.read()
    monkeypatch.setattr(archives, "MOST_UNPACKED", 10)
    with refused("unpacks to far more than tables do"):
        locate(pack(tmp_path / "z.zip", {"m.csv": TEXT}))


def test_damaged_and_foreign_archives_are_refused(tmp_path):
    whole = pack(tmp_path / "x.zip", {"m.csv": os.urandom(5000)}).read_bytes()
    (tmp_path / "x.zip").write_bytes(whole[:3000])
    with refused("cannot be unpacked: it is damaged"):
        locate(tmp_path / "x.zip")
    named = pack(tmp_path / "y.zip", {"m": b"1"}).read_bytes()
    at = named.index(b"PK\x01\x02") + 46  # the name in the directory; zero bytes end it
    (tmp_path / "y.zip").write_bytes(named[:at] + b"\0" + named[at + 1 :])
    with refused("cannot be unpacked: it is damaged"):
        locate(tmp_path / "y.zip")
    (tmp_path / "x.csv").write_bytes(b"BZh91AY&SY")
    with refused("is packed with bzip2"):
        locate(tmp_path / "x.csv")


def test_pipes_devices_and_circles_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "x.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "up").symlink_to(tmp_path)
    for source in (tmp_path / "x.csv", "/dev/zero"):
        with refused("is a pipe, a device or a socket"):
            locate(source)
    with refused("^The source is a link that points back to itself"):
        locate(tmp_path / "loop.csv")
    with refused("^No file with a name ending in"):
        locate(tmp_path)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"PAR1\x15\x04", "parquet"),
        (b"PK\x03\x04", "xlsx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xlsx"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>", "xml"),
        (b' \n[{"id": 1}]', "json"),
        (b'{"id": 1}\n{"id": 2}', "json"),
        (b"[Data]\nid,time\n", "text"),
        (TEXT, "text"),
        (TEXT.decode().encode("utf-16"), "text"),
        (TEXT.decode().encode("utf-16-le"), "text"),
        ("Zählpunkt;Datum\n".encode("cp1252"), "text"),
        (b"id,time\na\0b,1\n", "binary"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary"),
        (b"", "text"),
    ],
)
def test_kinds_are_told_by_content(head, kind):
    assert kind_of_bytes(head) == kind
