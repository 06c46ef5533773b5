"""Google's and Azure's object stores, against servers on this machine; S3 is in test_sources."""

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from read.support import assert_small_panel, refused
from read.test_sources import as_bytes
from shoal.engines import Local
from shoal.read import read_panel
from shoal.read.remote_files import _azure_settings, _open_store

# The account that every Azurite has; its key is public.
AZURITE = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6"
    "IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
)


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def running(command, port):
    """Start a server and wait until it answers."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return server
        time.sleep(0.1)
    server.kill()
    pytest.skip(f"{Path(command[0]).name} does not start")


@pytest.fixture(scope="module")
def google():
    command = Path(sys.executable).with_name("gcp-storage-emulator")
    if not command.exists():
        pytest.skip("gcp-storage-emulator is not installed")
    port = free_port()
    own = ["start", "--host=127.0.0.1", f"--port={port}", "--in-memory", "--default-bucket=meters"]
    server = running([str(command), *own], port)
    yield "gs", {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}
    server.kill()
    server.wait()


@pytest.fixture(scope="module")
def azure():
    command = shutil.which("azurite-blob")
    if command is None:
        pytest.skip("azurite-blob is not on the PATH (npm install azurite)")
    port = free_port()
    own = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--silent"]
    server = running([command, *own, "--skipApiVersionCheck"], port)
    yield "az", {"AZURE_STORAGE_CONNECTION_STRING": AZURITE.format(port=port)}
    server.kill()
    server.wait()


@pytest.mark.parametrize("server", ["google", "azure"])
def test_objects_folders_and_patterns_of_a_store(server, request, long, monkeypatch):
    scheme, environment = request.getfixturevalue(server)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    files, _ = _open_store(f"{scheme}://meters/x")
    if scheme == "az":
        files.create_dir("meters")
    for position, part in enumerate((long[:5], long[5:])):
        for path, kind in ((f"lake/p{position}.parquet", "parquet"), (f"text/2024-{position}.csv", "csv")):
            with files.open_output_stream(f"meters/{path}") as stream:
                stream.write(as_bytes(part, kind))
    for place in ("lake", "lake/p*.parquet", "text/", "text/2024-?.csv"):
        assert_small_panel(read_panel(f"{scheme}://meters/{place}"))
    with Local() as engine:
        assert_small_panel(read_panel(f"{scheme}://meters/lake", engine=engine).sample(99))
    with refused(f"^No table was found at the {scheme}:// address"):
        read_panel(f"{scheme}://meters/none.csv")


def test_a_connection_string_of_azure_tells_account_key_and_server():
    own = _azure_settings(AZURITE.format(port=10000))
    assert own["account"] == "devstoreaccount1"
    assert own["account_key"].endswith("==")
    assert (own["blob_storage_authority"], own["blob_storage_scheme"]) == ("127.0.0.1:10000", "http")
    cloud = _azure_settings("AccountName=own;AccountKey=a2V5;BlobEndpoint=https://own.blob.core.windows.net")
    assert cloud["blob_storage_authority"] == ".blob.core.windows.net"
    assert cloud["dfs_storage_authority"] == ".dfs.core.windows.net"
    assert _azure_settings("") == {}
