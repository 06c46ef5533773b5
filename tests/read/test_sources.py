"""The same small table from every place it may lie in."""

import functools
import http.server
import io
import logging
import ssl
import subprocess
import threading
import zipfile
from datetime import datetime

import numpy as np
import polars as pl
import pytest

from read.support import IDS, SECRETS, TIMES, VALUES, assert_small_panel, refused
from shoal.cli.app import run
from shoal.engines import Local
from shoal.engines.spark import unreadable
from shoal.read import read_panel

PASSWORD = SECRETS[2]
BUCKET = "meter-data"


@pytest.fixture(scope="module")
def store():
    """A local S3 server; the credentials of the environment are made for it."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    finally:
        server.stop()


@pytest.fixture
def bucket(store, monkeypatch):
    import pyarrow.fs

    for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": PASSWORD, "ENDPOINT_URL": store}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    files = pyarrow.fs.S3FileSystem(
        access_key="key",
        secret_key=PASSWORD,
        endpoint_override=store.removeprefix("http://"),
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    files.create_dir(BUCKET)

    def put(path, content):
        with files.open_output_stream(f"{BUCKET}/{path}") as stream:
            stream.write(content)

    return put


def as_bytes(frame, kind):
    stream = io.BytesIO()
    getattr(frame, f"write_{kind}")(stream)
    return stream.getvalue()


def test_objects_folders_and_patterns_of_a_store(bucket, long):
    for position, part in enumerate((long[:5], long[5:])):
        bucket(f"lake/p{position}.parquet", as_bytes(part, "parquet"))
        bucket(f"text/2024-{position}.csv", as_bytes(part, "csv"))
    bucket("lake/_SUCCESS", b"")
    assert_small_panel(read_panel(f"s3://{BUCKET}/lake"))
    assert_small_panel(read_panel(f"s3://{BUCKET}/text/2024-?.csv"))
    bucket("one.zip", packed({f"{n}.csv": as_bytes(long[s], "csv") for n, s in (("a", slice(5)), ("b", slice(5, 99)))}))
    assert_small_panel(read_panel(f"s3://{BUCKET}/one.zip"))
    sql = "select * from input"
    assert_small_panel(read_panel(f"s3://{BUCKET}/lake/p*.parquet", sql=sql))
    with Local() as engine:
        for place in ("lake", "text/2024-?.csv", "one.zip"):
            assert_small_panel(read_panel(f"s3://{BUCKET}/{place}", engine=engine).sample(99))


def test_a_delta_table_of_a_store(bucket, long, monkeypatch):
    deltalake = pytest.importorskip("deltalake")
    for name, value in {"ALLOW_HTTP": "true", "REGION": "us-east-1", "S3_ALLOW_UNSAFE_RENAME": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    for rows in (long.with_columns(pl.col("value") + 100), long):
        deltalake.write_deltalake(f"s3://{BUCKET}/delta", rows.to_arrow(), mode="overwrite")
    assert_small_panel(read_panel(f"s3://{BUCKET}/delta"))


def test_a_store_that_says_no_shows_neither_key_nor_path(bucket, monkeypatch):
    for place in (f"s3://{BUCKET}/{SECRETS[0]}.csv", f"s3://{SECRETS[0]}/x/*.csv"):
        with refused("^No table was found at the s3:// address|^The s3:// address cannot be read: .*AWS_ACCESS_KEY_ID"):
            read_panel(place)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with refused("^The s3:// address cannot be read: it does not exist, access is denied or S3 does not answer"):
        read_panel(f"s3://me:{PASSWORD}@{BUCKET}/x.csv")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with refused("^Azure needs the name of the account: set AZURE_STORAGE_ACCOUNT"):
        read_panel("az://container/x.csv")


def test_spark_says_what_it_takes_to_read_an_address():
    assert "hadoop-aws among its jars" in str(unreadable(f"s3a://me:{PASSWORD}@{BUCKET}/x"))
    assert "--engine local reads" in str(unreadable("https://host/x"))
    assert PASSWORD not in str(unreadable(f"s3://me:{PASSWORD}@{BUCKET}/x"))


@pytest.fixture
def serve(tmp_path):
    """Start a web server over a folder."""
    servers = []

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            if self.path.startswith("/away"):
                self.send_response(302)
                self.send_header("Location", "file:///etc/passwd")
                self.end_headers()
            elif self.path.startswith("/cut"):
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"id,time,value\na,0,1\n")
            else:
                super().do_GET()

    def start(folder, context=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server.server_address[1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_web_addresses(serve, tmp_path, long):
    (tmp_path / "m.csv").write_bytes(as_bytes(long, "csv"))
    (tmp_path / "m.parquet").write_bytes(as_bytes(long, "parquet"))
    port = serve(tmp_path)
    for name in ("m.csv", "m.parquet"):
        panel = read_panel(f"http://127.0.0.1:{port}/{name}?token={PASSWORD}")
        assert_small_panel(panel)
        assert len(panel.origin.sha256) == 1
        with Local() as engine:
            shards = read_panel(f"http://127.0.0.1:{port}/{name}?token={PASSWORD}", engine=engine)
            assert_small_panel(shards.sample(99))
            assert shards.origin == panel.origin
    with refused("^The http:// address cannot be read: the server answers 404"):
        read_panel(f"http://127.0.0.1:{port}/{SECRETS[0]}.csv?token={PASSWORD}")
    with refused("^The http:// address redirects to another kind of address"):
        read_panel(f"http://127.0.0.1:{port}/away?token={PASSWORD}")
    with refused("^The http:// address cannot be read: its server did not answer, or not completely"):
        read_panel(f"http://127.0.0.1:{port}/cut.csv")
    with refused("^The http:// address contains a password"):
        read_panel(f"http://me:{PASSWORD}@127.0.0.1:{port}/m.csv")


def test_an_address_with_tls_is_read_only_from_whom_it_names(serve, tmp_path, long, monkeypatch):
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    options += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", "req", *options], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    (tmp_path / "m.csv").write_bytes(as_bytes(long, "csv"))
    address = f"https://127.0.0.1:{serve(tmp_path, context)}/m.csv"
    with refused("^The https:// address cannot be read: its server did not answer"):
        read_panel(address)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert_small_panel(read_panel(address))


def packed(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_sheets_of_a_workbook(tmp_path, long, capsys):
    path = tmp_path / "book.bin"
    sheets = {
        "notes": pl.DataFrame({"about": ["x"]}),
        "meters": long,
        "other": long.with_columns(pl.col("value") + 1),
        "small": long.with_columns(pl.lit(2.0).alias("value")),
    }
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        for name, frame in sheets.items():
            frame.write_excel(book, worksheet=name)
    panel = read_panel(path)
    assert (panel.ids.tolist(), panel.times.tolist()) == (IDS, TIMES.tolist())
    np.testing.assert_allclose(panel.values, VALUES, rtol=1e-15)  # the writer keeps 16 digits
    assert read_panel(path, sheet="other").values[0, 0] == VALUES[0, 0] + 1
    with refused("^None of the 4 sheets of the workbook has the name given as sheet="):
        read_panel(path, sheet=SECRETS[0])
    assert run(["anonymize", str(path), "--sheet", "small", "--k", "3", "-o", str(tmp_path / "out")]) == 0
    assert run(["anonymize", str(path), "--sheet", SECRETS[0], "--k", "3", "-o", str(tmp_path / "no")]) == 2
    assert "as --sheet." in capsys.readouterr().err
    long.write_csv(tmp_path / "x.csv")
    with refused("^Only a workbook has sheets, and this is CSV"):
        read_panel(tmp_path / "x.csv", sheet="meters")


def test_a_workbook_of_the_old_kind(tmp_path, long):
    xlwt = pytest.importorskip("xlwt", reason="the only writer of .xls")
    book = xlwt.Workbook()
    sheet, date = book.add_sheet("meters"), xlwt.easyxf(num_format_str="DD/MM/YYYY HH:MM")
    for column, name in enumerate(long.columns):
        sheet.write(0, column, name)
    for n, row in enumerate(long.iter_rows(), 1):
        for column, entry in enumerate(row):
            sheet.write(n, column, entry, *([date] if isinstance(entry, datetime) else []))
    book.save(str(tmp_path / "x.xls"))
    assert (tmp_path / "x.xls").read_bytes().startswith(b"\xd0\xcf\x11\xe0")
    panel = read_panel(tmp_path / "x.xls")
    assert (panel.ids.tolist(), panel.times.tolist()) == (IDS, TIMES.tolist())
    np.testing.assert_allclose(panel.values, VALUES, rtol=1e-15)


def test_delta_reads_what_its_log_says(tmp_path, long):
    deltalake = pytest.importorskip("deltalake")
    gone = long.with_columns(pl.col("value") + 100)
    deltalake.write_deltalake(str(tmp_path / "t"), gone.to_arrow())
    deltalake.write_deltalake(str(tmp_path / "t"), long.to_arrow(), mode="overwrite")
    assert_small_panel(read_panel(tmp_path / "t", timezone=None))
    with Local() as engine:
        assert_small_panel(read_panel(tmp_path / "t", engine=engine).sample(99))
    (tmp_path / "t" / "_delta_log" / "00000000000000000001.json").write_text("{")
    with refused("cannot be read as a Delta table"):
        read_panel(tmp_path / "t")


def test_iceberg_reads_its_newest_metadata(tmp_path, long):
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = catalogs.SqlCatalog("t", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("n")
    rows = long.to_arrow().cast(long.to_arrow().schema)
    table = catalog.create_table("n.t", schema=rows.schema)
    table.append(rows.slice(0, 5))
    table.append(rows.slice(5))
    assert_small_panel(read_panel(table.location().removeprefix("file://")))
    catalog.engine.dispose()


def test_arrays_of_xarray():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(
        VALUES.T,
        dims=("time", "meter"),
        coords={"time": TIMES.astype("datetime64[ns]"), "meter": IDS, "town": ("meter", ["n", "n", "s"])},
    )
    panel = read_panel(array, quasi="town")
    assert_small_panel(panel)
    assert panel.attributes["town"].tolist() == ["n", "n", "s"]
    both = read_panel(xarray.Dataset({"kwh": array, "volt": array + 1, "zone": ("meter", [1, 2, 3])}))
    assert both.channels == ("kwh", "volt")
    np.testing.assert_array_equal(both.values[:, :, 1], VALUES + 1)
    stacked = xarray.concat([array, array + 1], dim="channel").drop_vars("town")
    np.testing.assert_array_equal(read_panel(stacked).values[:, :, 1], VALUES + 1)
    with refused("^Two dimensions of the xarray object could be the series"):
        read_panel(stacked.rename(channel="floor"))
    with refused("^An xarray object needs a dimension of time"):
        read_panel(xarray.DataArray(VALUES, dims=("a", "b")))
