"""Files in object stores and at web addresses, fetched within limits."""

from __future__ import annotations

import http.client
import io
import os
import urllib.error
import urllib.request
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import IO, Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs

from shoal.errors import InputError
from shoal.read.source_files import BLOCK, TABLE_SUFFIXES, SourceFile, Temporary, is_hidden, local_file, scheme_of

MOST_FETCHED = 16 << 30
"""Largest number of bytes fetched from a web address into a temporary file."""
_SECONDS = 30.0
_REDIRECTS = (301, 302, 303, 307, 308)
_STORES = {"s3": "S3", "gs": "Google Cloud Storage", "az": "Azure", "abfs": "Azure", "abfss": "Azure"}


def is_address(source: str) -> bool:
    """Whether this names a place on the network that `locate` can read."""
    return scheme_of(source) in (*_STORES, "http", "https")


def is_store(source: str) -> bool:
    """Whether this is an address in an object store."""
    return scheme_of(source) in _STORES


def files_in_store(address: str) -> list[SourceFile]:
    """The files at an address of an object store, in the order of their names."""
    scheme = scheme_of(address)
    try:
        files, place = _open_store(address)
        wildcard = min((place.find(sign) for sign in "*?[" if sign in place), default=-1)
        if wildcard >= 0:
            listed = _list(files, place[:wildcard].rpartition("/")[0])
            listed = [info for info in listed if _fits(info.path, place)]
        elif (info := files.get_file_info(place)).type is pyarrow.fs.FileType.File:
            listed = [info]
        else:
            folder = place.rstrip("/")
            # Relative to the folder: parent folders may begin with an underscore.
            listed = [
                info
                for info in _list(files, folder)
                if not is_hidden(PurePosixPath(info.path[len(folder) :].lstrip("/")))
                and info.path.lower().endswith(TABLE_SUFFIXES)
            ]
    except (pa.ArrowException, OSError, ValueError):
        raise store_failed(scheme) from None
    if not listed:
        raise InputError(f"No table was found at the {scheme}:// address. Check bucket, path and pattern.")
    return [_stored(files, info, address) for info in sorted(listed, key=lambda info: info.path)]


def _list(files: Any, folder: str) -> list[Any]:
    selector = pyarrow.fs.FileSelector(folder, recursive=True, allow_not_found=True)
    return [info for info in files.get_file_info(selector) if info.type is pyarrow.fs.FileType.File]


def folder_of_store(address: str, folder: str) -> list[str]:
    """Names of the files in a folder below an address."""
    try:
        files, place = _open_store(address)
        return [info.base_name for info in _list(files, f"{place.rstrip('/')}/{folder}")]
    except (pa.ArrowException, OSError, ValueError):
        return []  # reported when the address itself is read


def _fits(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern whose * stays within a folder."""
    own, wanted = path.split("/"), pattern.split("/")
    return len(own) == len(wanted) and all(map(fnmatchcase, own, wanted)) and not own[-1].startswith(".")


def _stored(files: Any, info: Any, address: str) -> SourceFile:
    scheme = scheme_of(address)

    def arrow() -> Any:
        try:
            return files.open_input_file(info.path)
        except (pa.ArrowException, OSError):
            raise store_failed(scheme) from None

    def opener() -> IO[bytes]:
        return io.BufferedReader(arrow(), BLOCK)  # Arrow's own streams cannot iterate over lines

    return SourceFile(info.base_name, info.size, None, opener, arrow=arrow, address=_address_of(address, info.path))


def _address_of(address: str, path: str) -> str:
    """The address of one of the objects that an address names, with its login and options."""
    head, mark, query = _split_query(address)
    scheme, _, bare = head.partition("://")
    login, at, host = bare.partition("/")[0].rpartition("@")
    if at and scheme.lower() != "s3":  # abfs: the container comes before the account
        return f"{scheme}://{login}@{host}/{path.partition('/')[2]}{mark}{query}"
    return f"{scheme}://{login}{at}{path}{mark}{query}"


def _split_query(address: str) -> tuple[str, str, str]:
    """An address and its options. A question mark without an equals sign after it is part of a pattern."""
    head, mark, query = address.rpartition("?")
    return (head, mark, query) if mark and "=" in query else (address, "", "")


def store_failed(scheme: str) -> InputError:
    """The message for an address that cannot be read; the store's own words may quote keys and paths."""
    keys = {
        "S3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
        "Google Cloud Storage": "GOOGLE_APPLICATION_CREDENTIALS",
        "Azure": "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY",
    }[_STORES[scheme]]
    return InputError(
        f"The {scheme}:// address cannot be read: it does not exist, access is denied or {_STORES[scheme]} does not "
        f"answer. Check bucket and path, and {keys} in the environment; details are withheld because they may hold "
        "keys."
    )


def _open_store(address: str) -> tuple[Any, str]:
    """The store, and the path inside it."""
    scheme = scheme_of(address)
    head, _, query = _split_query(address)
    bare = head.partition("://")[2]
    options = {name: entries[-1] for name, entries in parse_qs(query).items()}
    login, at, place = bare.rpartition("@") if "@" in bare.partition("/")[0] else ("", "", bare)
    environment = os.environ
    if scheme == "s3":
        endpoint = options.get("endpoint_override") or environment.get("AWS_ENDPOINT_URL_S3")
        endpoint = endpoint or environment.get("AWS_ENDPOINT_URL")
        settings: dict[str, Any] = {"connect_timeout": 10, "request_timeout": _SECONDS}
        settings["retry_strategy"] = pyarrow.fs.AwsStandardS3RetryStrategy(max_attempts=3)
        if endpoint:
            protocol, mark, host = endpoint.rstrip("/").rpartition("://")
            settings |= {"endpoint_override": host, "scheme": options.get("scheme") or (protocol if mark else "https")}
        if login:
            key, _, secret = login.partition(":")
            settings |= {"access_key": unquote(key), "secret_key": unquote(secret)}
        region = options.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
        if region or endpoint:
            settings["region"] = region or "us-east-1"
        else:
            settings["region"] = pyarrow.fs.resolve_s3_region(place.partition("/")[0])
        if environment.get("AWS_NO_SIGN_REQUEST", "").lower() in ("1", "true", "yes"):
            settings["anonymous"] = True
        return pyarrow.fs.S3FileSystem(**settings), place
    if scheme == "gs":
        settings = {"retry_time_limit": timedelta(seconds=_SECONDS)}
        if server := environment.get("STORAGE_EMULATOR_HOST"):
            protocol, mark, host = server.rstrip("/").rpartition("://")
            settings |= {"endpoint_override": host, "scheme": protocol if mark else "http", "anonymous": True}
        elif environment.get("GS_NO_SIGN_REQUEST", "").lower() in ("1", "true", "yes"):
            settings["anonymous"] = True
        return pyarrow.fs.GcsFileSystem(**settings), place
    # abfs://container@account.dfs.core.windows.net/path, or az://container/path.
    host, _, below = place.partition("/")
    given = _azure_settings(environment.get("AZURE_STORAGE_CONNECTION_STRING", ""))
    account = host.partition(".")[0] if at else environment.get("AZURE_STORAGE_ACCOUNT") or given.pop("account", None)
    if not account:
        raise InputError(
            "Azure needs the name of the account: set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING."
        )
    given.pop("account", None)
    key = environment.get("AZURE_STORAGE_KEY") or given.pop("account_key", None)
    inside = f"{login}/{below}" if at else place
    return pyarrow.fs.AzureFileSystem(account, **given | {"account_key": key}), inside


def _azure_settings(text: str) -> dict[str, Any]:
    """The entries of a connection string such as AccountName=...;AccountKey=...;BlobEndpoint=..."""
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    names = {"account": "AccountName", "account_key": "AccountKey"}
    settings = {name: parts[theirs] for name, theirs in names.items() if theirs in parts}
    address = urlsplit(parts.get("BlobEndpoint", ""))
    if address.netloc:
        # The name of the account is part of the host, or the first part of the path on a server of one's own.
        name = parts.get("AccountName", "")
        host = address.netloc.removeprefix(name) if name and address.netloc.startswith(f"{name}.") else address.netloc
        settings |= {f"{kind}_storage_authority": host.replace(".blob.", f".{kind}.") for kind in ("blob", "dfs")}
        settings |= {f"{kind}_storage_scheme": address.scheme for kind in ("blob", "dfs")}
    return settings


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects must stay on the web, and keep TLS."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if scheme_of(newurl) not in ("https", scheme_of(req.full_url)):
            raise urllib.error.HTTPError(newurl, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetched(address: str) -> SourceFile:
    """The content of a web address in a temporary file: it is read twice, and a server may answer differently each
    time."""
    scheme = scheme_of(address)
    parts = urlsplit(address)
    if "@" in parts.netloc:
        raise InputError(
            f"The {scheme}:// address contains a password, which Shoal does not send. Give a signed address."
        )
    opener = urllib.request.build_opener(_SafeRedirects)
    content = Temporary()
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "shoal"})
        with opener.open(request, timeout=_SECONDS) as answer, content.path.open("wb") as copy:
            n_bytes = 0
            while block := answer.read(BLOCK):
                n_bytes += len(block)
                if n_bytes > MOST_FETCHED:
                    raise InputError(
                        f"The {scheme}:// address returns more than {MOST_FETCHED >> 30} GiB. Download it to a file "
                        "first."
                    )
                copy.write(block)
            promised = answer.headers.get("Content-Length")
            if promised is not None and int(promised) != n_bytes:
                raise EOFError  # read() takes a lost connection for the end
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _REDIRECTS:
            raise InputError(
                f"The {scheme}:// address redirects to another kind of address, which Shoal does not follow. Give "
                "that one."
            ) from None
        raise InputError(
            f"The {scheme}:// address cannot be read: the server answers {error.code}. Check the address and whether "
            "it needs a login."
        ) from None
    except (OSError, ValueError, EOFError, http.client.HTTPException):
        raise InputError(
            f"The {scheme}:// address cannot be read: its server did not answer, or not completely. Check the address "
            "and the network."
        ) from None
    file = local_file(content.path, PurePosixPath(unquote(parts.path)).name or "table")

    file.copied.append(content)  # removed with the last reference
    return file
