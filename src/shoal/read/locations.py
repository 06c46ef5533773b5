"""Where a table lies: files, folders, patterns, archives, object stores and web addresses, as streams of bytes.

Archives are opened within limits, because a few kilobytes can unpack to terabytes. Addresses and the names of files
inside folders are never part of a message: the first may hold a password, the second the name of a person.
"""

from __future__ import annotations

import errno
import gzip
import http.client
import io
import os
import re
import shutil
import stat
import tempfile
import urllib.error
import urllib.request
import weakref
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs

from shoal.errors import InputError

HEAD = 1 << 16
"""Bytes at the beginning of a file that tell what it is."""

MOST_UNPACKED = 64 << 30
"""Bytes that an archive may unpack to."""
FREE_UNPACKED = 256 << 20
"""Bytes that may be unpacked whatever the ratio."""
MOST_RATIO = 250
"""Unpacked bytes for each packed one: readings rarely exceed 50, bombs reach 1000."""
MOST_WORKBOOK = 1 << 30
"""Bytes that a workbook may unpack to: it is held in memory."""
MOST_MEMBERS = 100_000
"""Files in an archive."""
MOST_FETCHED = 16 << 30
"""Bytes that are fetched from a web address into a temporary file."""

_BLOCK = 1 << 20
_SECONDS = 30.0
_REDIRECTS = (301, 302, 303, 307, 308)
_TABLE_SUFFIXES = tuple(
    ".csv .tsv .txt .dat .json .ndjson .jsonl .xml .xlsx .xlsm .xls .parquet .pq .zip .gz".split()  # noqa: SIM905
)
_STORES = {"s3": "S3", "gs": "Google Cloud Storage", "az": "Azure", "abfs": "Azure", "abfss": "Azure"}
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1a\x1b")
_ZIP_ERRORS = (zipfile.BadZipFile, OSError, ValueError, EOFError, RuntimeError, NotImplementedError)
_OTHER_PACKERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z", b"Rar!": "rar"}


class _Temporary:
    """A file of mode 0600 that is removed with the last reference to it."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="shoal-")
        os.close(handle)
        self.path = Path(name)
        self._end = weakref.finalize(self, os.unlink, name)


@dataclass(frozen=True)
class SourceFile:
    """One file of a source, unpacked."""

    name: str
    """Its name inside the folder or archive. It may identify a person: never print it."""
    size: int | None
    """Bytes as they are stored, where that is known without reading."""
    path: Path | None
    """Where it lies as it is, if it is a plain file of this machine."""
    opener: Callable[[], IO[bytes]] = field(repr=False, compare=False)
    stored: Path | None = None
    """The file of this machine in which it lies: itself, or the archive around it."""
    arrow: Callable[[], Any] | None = field(default=None, repr=False, compare=False)
    """Opens it as a file of Arrow's, for Parquet in an object store."""
    address: str | None = field(default=None, repr=False)
    """Where it lies in an object store, as `locate` takes it. It may hold a password: never print it."""

    copied: list[_Temporary] = field(default_factory=list, repr=False, compare=False)

    def local(self) -> Path:
        """A plain file with its bytes: itself, or a temporary copy that lives as long as this object.

        For readers with threads of their own, which must not call back into Python: at the end of the program they
        would bring it down.
        """
        if self.path is not None:
            return self.path
        if not self.copied:
            copy = _Temporary()
            with self.open() as stream, copy.path.open("wb") as target:
                shutil.copyfileobj(stream, target, _BLOCK)
            self.copied.append(copy)
        return self.copied[0].path

    def open(self) -> IO[bytes]:
        """A seekable stream of its bytes, unpacked, from the beginning."""
        return self.opener()

    @property
    def stem(self) -> str:
        """The name without its suffixes: the identifier of a series where each has a file of its own."""
        name = PurePosixPath(self.name.replace("\\", "/")).name
        while (suffix := PurePosixPath(name).suffix.lower()) in _TABLE_SUFFIXES:
            name = name[: -len(suffix)]
        return name

    def head(self, n_bytes: int = HEAD) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(n_bytes)


def is_address(source: str) -> bool:
    """Whether this names a place on the network that `locate` can read."""
    return _scheme(source) in (*_STORES, "http", "https")


def is_store(source: str) -> bool:
    """Whether this is an address in an object store."""
    return _scheme(source) in _STORES


def locate(source: str | os.PathLike[str]) -> list[SourceFile]:
    """The files of a path, folder, pattern, archive or address, in the order of their names."""
    place = os.fspath(source)
    if _scheme(place) in ("http", "https"):
        found = [_fetch(place)]
    elif is_store(place):
        found = _in_store(place)
    else:
        found = [local_file(path) for path in local_paths(place)]
    return [member for file in found for member in _unpacked(file, shown(place))]


def _scheme(place: str) -> str:
    head, mark, _ = place.partition("://")
    return head.lower() if mark else ""


def shown(place: str) -> str:
    """What a message may call the source: a path as it was typed, of an address its scheme alone."""
    scheme = _scheme(place)
    return f"the {scheme}:// address" if scheme else place


# files of this machine


def local_paths(source: str) -> list[Path]:
    """The plain files of a path, folder or pattern."""
    try:
        path = Path(source).expanduser()
        odd = not source.isprintable()
        mode = None if odd else _mode(path)
    except (OSError, RuntimeError, ValueError):
        odd = True
    if odd:
        # Not echoed: this long or of several lines, it is rather a query than a name.
        raise InputError("The source is not the name of a file. Give a query as sql=.")
    if mode is not None and stat.S_ISREG(mode):
        return [path]
    if mode is not None and stat.S_ISDIR(mode):
        # Links to folders are not followed: one that leads upwards would be walked again and again.
        within = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        found = [p for p in within if p.name.lower().endswith(_TABLE_SUFFIXES) and p.is_file()]
        found = [p for p in found if not _hidden(p.relative_to(path))]
    elif mode is not None:
        raise InputError(f"{source} is a pipe, a device or a socket, which cannot be read twice. Save it as a file.")
    elif any(sign in source for sign in "*?["):
        found = _matching(source, path)
    else:
        raise InputError(f"No such file: {source}")
    if not found:
        raise InputError(f"No file with a name ending in {', '.join(_TABLE_SUFFIXES)} at {source}.")
    return sorted(found)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("The source is a link that leads back to itself. Give the file itself.") from None
        if error.errno != errno.EACCES:
            raise
        raise InputError("A folder on the way to the source cannot be opened: permission denied.") from None


def _matching(source: str, pattern: Path) -> list[Path]:
    root = Path(pattern.anchor or ".")
    try:
        found = list(root.glob(str(pattern.relative_to(pattern.anchor))))
    except (ValueError, NotImplementedError):
        raise InputError(f"The pattern {source} cannot be read: ** must stand alone between slashes.") from None
    return [path for path in found if path.is_file() and not path.name.startswith(".")]


def _hidden(path: Path | PurePosixPath) -> bool:
    # Spark and editors leave files such as _SUCCESS and .part.crc beside the data; a Mac leaves __MACOSX in archives.
    return any(part.startswith((".", "_")) for part in path.parts)


def local_file(path: Path, name: str | None = None) -> SourceFile:
    """A plain file of this machine."""

    def opener() -> IO[bytes]:
        try:
            return path.open("rb")
        except OSError as error:
            raise InputError(f"A file cannot be opened: {error.strerror}.") from None

    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"A file cannot be opened: {error.strerror}.") from None
    return SourceFile(name or path.name, size, path, opener, stored=path)


# object stores


def _in_store(address: str) -> list[SourceFile]:
    scheme = _scheme(address)
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
            # Relative to the folder: what lies above it may begin with an underscore.
            listed = [
                info
                for info in _list(files, folder)
                if not _hidden(PurePosixPath(info.path[len(folder) :].lstrip("/")))
                and info.path.lower().endswith(_TABLE_SUFFIXES)
            ]
    except (pa.ArrowException, OSError, ValueError):
        raise store_failed(scheme) from None
    if not listed:
        raise InputError(f"There is no table at the {scheme}:// address. Check bucket, path and pattern.")
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
        return []  # told by whoever reads the address itself


def _fits(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern whose * stays within a folder."""
    own, wanted = path.split("/"), pattern.split("/")
    return len(own) == len(wanted) and all(map(fnmatchcase, own, wanted)) and not own[-1].startswith(".")


def _stored(files: Any, info: Any, address: str) -> SourceFile:
    scheme = _scheme(address)

    def arrow() -> Any:
        try:
            return files.open_input_file(info.path)
        except (pa.ArrowException, OSError):
            raise store_failed(scheme) from None

    def opener() -> IO[bytes]:
        return io.BufferedReader(arrow(), _BLOCK)  # Arrow's own streams know no lines

    return SourceFile(info.base_name, info.size, None, opener, arrow=arrow, address=_address_of(address, info.path))


def _address_of(address: str, path: str) -> str:
    """The address of one object of those that an address names, with its login and options."""
    head, mark, query = _split_query(address)
    scheme, _, bare = head.partition("://")
    login, at, host = bare.partition("/")[0].rpartition("@")
    if at and scheme.lower() != "s3":  # abfs: the container stands before the account
        return f"{scheme}://{login}@{host}/{path.partition('/')[2]}{mark}{query}"
    return f"{scheme}://{login}{at}{path}{mark}{query}"


def _split_query(address: str) -> tuple[str, str, str]:
    """An address and its options. A question mark without an equals sign behind it is part of a pattern."""
    head, mark, query = address.rpartition("?")
    return (head, mark, query) if mark and "=" in query else (address, "", "")


def store_failed(scheme: str) -> InputError:
    """What to say of an address that cannot be read; the store's own words may quote keys and paths."""
    keys = {
        "S3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
        "Google Cloud Storage": "GOOGLE_APPLICATION_CREDENTIALS",
        "Azure": "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY",
    }[_STORES[scheme]]
    return InputError(
        f"The {scheme}:// address cannot be read: it is not there, access is denied or {_STORES[scheme]} does not "
        f"answer. Check bucket and path, and {keys} of the environment; details are withheld, they may hold keys."
    )


def _open_store(address: str) -> tuple[Any, str]:
    """The store, and the path inside it."""
    scheme = _scheme(address)
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
        from datetime import timedelta

        return pyarrow.fs.GcsFileSystem(retry_time_limit=timedelta(seconds=_SECONDS)), place
    # abfs://container@account.dfs.core.windows.net/path, or az://container/path.
    host, _, below = place.partition("/")
    account = host.partition(".")[0] if at else environment.get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise InputError("Azure needs the name of the account: set AZURE_STORAGE_ACCOUNT.")
    inside = f"{login}/{below}" if at else place
    return pyarrow.fs.AzureFileSystem(account, account_key=environment.get("AZURE_STORAGE_KEY")), inside


# web addresses


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects stay on the web, and do not leave TLS."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if _scheme(newurl) not in ("https", _scheme(req.full_url)):
            raise urllib.error.HTTPError(newurl, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(address: str) -> SourceFile:
    """The content of a web address in a temporary file: it is read twice, and a server may answer anew each time."""
    scheme = _scheme(address)
    parts = urlsplit(address)
    if "@" in parts.netloc:
        raise InputError(f"The {scheme}:// address has a password in it, which is not sent. Give a signed address.")
    opener = urllib.request.build_opener(_SafeRedirects)
    content = _Temporary()
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "shoal"})
        with opener.open(request, timeout=_SECONDS) as answer, content.path.open("wb") as copy:
            n_bytes = 0
            while block := answer.read(_BLOCK):
                n_bytes += len(block)
                if n_bytes > MOST_FETCHED:
                    raise InputError(
                        f"The {scheme}:// address gives more than {MOST_FETCHED >> 30} GiB. Fetch it to a file first."
                    )
                copy.write(block)
            promised = answer.headers.get("Content-Length")
            if promised is not None and int(promised) != n_bytes:
                raise EOFError  # read() takes a lost connection for the end
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _REDIRECTS:
            raise InputError(
                f"The {scheme}:// address leads to another kind of address, which is not followed. Give that one."
            ) from None
        raise InputError(
            f"The {scheme}:// address cannot be read: the server answers {error.code}. Check the address and whether "
            "it needs a login."
        ) from None
    except (OSError, ValueError, EOFError, http.client.HTTPException):
        raise InputError(
            f"The {scheme}:// address cannot be read: no answer from its server, or not all of it. Check the address "
            "and the network."
        ) from None
    file = local_file(content.path, PurePosixPath(unquote(parts.path)).name or "table")

    file.copied.append(content)  # removed with the last reference
    return file


# archives


def _unpacked(file: SourceFile, shown: str) -> list[SourceFile]:
    head = file.head(HEAD)
    if head.startswith(b"\x1f\x8b"):
        return [_gunzipped(file, shown)]
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _members(file, shown)
    if packer := next((name for mark, name in _OTHER_PACKERS.items() if head.startswith(mark)), None):
        raise InputError(f"A file at {shown} is packed with {packer}. Unpack it, or use gzip or zip.")
    return [file]


def _gunzipped(file: SourceFile, shown: str) -> SourceFile:
    def opener() -> IO[bytes]:
        packed = file.open()
        return _limited(gzip.GzipFile(fileobj=packed, mode="rb"), (packed,), file.size, shown)

    unpacked = SourceFile(re.sub(r"(?i)\.gz$", "", file.name), file.size, None, opener, stored=file.stored)
    _refuse_nested(unpacked.head(8), shown)
    return unpacked


def _members(file: SourceFile, shown: str) -> list[SourceFile]:
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except _ZIP_ERRORS:
        raise _damaged(shown) from None
    if len(entries) > MOST_MEMBERS:
        raise InputError(f"{shown} holds {len(entries)} files, more than {MOST_MEMBERS}. Unpack it first.")
    total = sum(entry.file_size for entry in entries)
    if total > MOST_UNPACKED or (total > FREE_UNPACKED and total > MOST_RATIO * max(file.size or 0, 1)):
        raise _too_much(shown)
    if any(entry.filename == "[Content_Types].xml" for entry in entries):
        if total > MOST_WORKBOOK:
            raise _too_much(shown)
        return [file]  # a workbook is a zip of its own
    entries = [entry for entry in entries if not _hidden(PurePosixPath(entry.filename))]
    tables = [entry for entry in entries if entry.filename.lower().endswith(_TABLE_SUFFIXES)]
    if any(entry.flag_bits & 1 for entry in tables):
        raise InputError(f"{shown} is protected by a password. Unpack it first.")
    if not tables:
        raise InputError(f"None of the {len(entries)} files packed in {shown} is a table. Check the archive.")
    members = [_member(file, entry, shown) for entry in sorted(tables, key=lambda entry: entry.filename)]
    for member in members:
        _refuse_nested(member.head(8), shown)
    return members


def _member(file: SourceFile, entry: zipfile.ZipInfo, shown: str) -> SourceFile:
    def opener() -> IO[bytes]:
        packed = file.open()
        try:
            archive = zipfile.ZipFile(packed)
            stream = archive.open(entry)
        except _ZIP_ERRORS:
            packed.close()
            raise _damaged(shown) from None
        return _limited(stream, (archive, packed), file.size, shown)

    return SourceFile(PurePosixPath(entry.filename).name, entry.file_size, None, opener, stored=file.stored)


def _limited(stream: Any, below: tuple[Any, ...], packed: int | None, shown: str) -> IO[bytes]:
    return io.BufferedReader(_Limited(stream, below, packed, shown), _BLOCK)


class _Limited(io.RawIOBase):
    """Unpacked bytes, up to what an honest archive of this size holds."""

    def __init__(self, stream: Any, below: tuple[Any, ...], packed: int | None, shown: str) -> None:
        self._stream, self._below, self._shown = stream, below, shown
        by_ratio = max(FREE_UNPACKED, MOST_RATIO * packed) if packed else MOST_UNPACKED
        self._most = min(by_ratio, MOST_UNPACKED)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._stream.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return int(self._stream.seek(offset, whence))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
            raise _damaged(self._shown) from None

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._stream.read(len(buffer))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
            raise _damaged(self._shown) from None
        if self._stream.tell() > self._most:
            raise _too_much(self._shown)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed:
            for stream in (self._stream, *self._below):
                stream.close()
        super().close()


def _refuse_nested(head: bytes, shown: str) -> None:
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04", *_OTHER_PACKERS)):
        raise InputError(f"{shown} holds a packed file inside a packed file. Unpack the outer one first.")


def _damaged(shown: str) -> InputError:
    return InputError(f"A packed file at {shown} cannot be unpacked: it is damaged or of another kind.")


def _too_much(shown: str) -> InputError:
    return InputError(
        f"A packed file at {shown} unpacks to far more than tables do (over {MOST_RATIO} times its size, or over "
        f"{MOST_UNPACKED >> 30} GiB). If it is meant, unpack it first."
    )


# kinds


def kind_of_bytes(head: bytes) -> str:
    """What a file is by its first bytes: "parquet", "xlsx" (any workbook), "xml", "json", "text" or "binary"."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
        return "xlsx"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _kind_of_text(head.decode("utf-16", "ignore"))
    if b"\0" in head:
        # Every second byte of UTF-16 without a mark is zero, as long as its letters are Latin.
        for first, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
            if head[first::2].count(0) > 0.9 * len(head[first::2]) and 0 not in head[1 - first :: 2]:
                return _kind_of_text(head.decode(encoding, "ignore"))
        return "binary"
    n_odd = len(head) - len(head.translate(None, _CONTROLS))
    return "binary" if n_odd > len(head) // 100 else _kind_of_text(head.decode("utf-8-sig", "replace"))


def _kind_of_text(text: str) -> str:
    start = text.lstrip("\ufeff \t\r\n")
    if re.match(r"<(\?xml|!--|!DOCTYPE|[A-Za-z])", start):
        return "xml"
    return "json" if re.match(r'\{\s*["}]|\[\s*[\[{"\]]', start) else "text"
