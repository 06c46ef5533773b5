"""How much may come in, whatever it says it is; and uploads, which appear whole or not at all."""

import io
import zipfile

import anyio
import polars as pl
import pytest

from shoal.read import archives
from shoal.studio import looks
from shoal.studio.app import build
from shoal.studio.context import Settings, Studio
from shoal.studio.security import FORM_BYTES
from studio.conftest import person

TABLE = b"id,time,value\na,0,1.5\na,1,2.5\nb,0,3.5\nb,1,4.5\n"


def upload(someone, content, *, file_name="new.csv", name="", csrf=None):
    fields = {"csrf": someone.csrf if csrf is None else csrf, "name": name}
    return someone.client.post("/tables", data=fields, files={"file": (file_name, content, "text/csv")})


def ask(app, path, headers, pieces, method="POST"):
    """Send a body in pieces, straight to the application; gives the statuses it answered with, and how much it read."""
    sent, read = [], 0
    waiting = list(pieces)

    async def receive():
        nonlocal read
        if not waiting:
            return {"type": "http.request", "body": b"", "more_body": False}
        piece = waiting.pop(0)
        read += len(piece)
        return {"type": "http.request", "body": piece, "more_body": bool(waiting)}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "server": ("127.0.0.1", 8765),
        "client": ("127.0.0.1", 50000),
        "headers": [(b"host", b"127.0.0.1:8765"), *((k.encode(), v.encode()) for k, v in headers.items())],
    }
    anyio.run(app, scope, receive, send)
    return [m["status"] for m in sent if m["type"] == "http.response.start"], read


def test_a_query_that_is_no_text_is_answered(publisher, studio):
    async def answered(scope, receive, send):
        await build(studio)({**scope, "query_string": b"page=\xff\xfe"}, receive, send)

    cookie = "; ".join(f"{name}={value}" for name, value in publisher.client.cookies.items())
    assert ask(answered, "/jobs", {"cookie": cookie}, [], method="GET")[0] == [200]


class TestForms:
    def test_a_form_of_the_largest_size_is_read_and_one_byte_more_is_not(self, publisher):
        plain = f"csrf={publisher.csrf}&analyst=anna&filler="
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        for n, status in ((FORM_BYTES - len(plain), 404), (FORM_BYTES - len(plain) + 1, 413)):
            answer = publisher.client.post("/tasks/none/links", content=plain + "x" * n, headers=kind)
            assert answer.status_code == status
        assert "larger than the studio accepts" in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"

    @pytest.mark.parametrize("announced", [{}, {"content-length": "10"}, {"content-length": "no number"}])
    def test_what_is_announced_is_not_believed(self, studio, announced):
        headers = {"content-type": "application/x-www-form-urlencoded", **announced}
        statuses, read = ask(build(studio), "/login", headers, [b"a" * 4096] * 1000)
        assert statuses == [413]
        assert read <= FORM_BYTES + 4096

    def test_what_announces_too_much_is_not_read(self, studio):
        headers = {"content-type": "application/json", "content-length": str(10**12)}
        assert ask(build(studio), "/label/api/answer", headers, [b"{}"]) == ([413], 0)

    def test_the_limit_of_uploads_is_for_uploads_only(self, studio):
        headers = {"content-type": "multipart/form-data; boundary=x"}
        for path in ("/tasks", "/login"):
            assert ask(build(studio), path, headers, [b"a" * (FORM_BYTES + 1)])[0] == [413]
        assert ask(build(studio), "/tables", headers, [b"a" * (FORM_BYTES + 1)])[0] == [401]


class TestUploads:
    def test_a_table_arrives_whole_and_can_be_read(self, publisher, project):
        answer = upload(publisher, TABLE)
        assert (answer.status_code, answer.headers["location"]) == (303, "/tables/new.csv")
        assert (project.folder / "data" / "new.csv").read_bytes() == TABLE
        assert (project.folder / "data" / "new.csv").stat().st_mode & 0o777 == 0o600
        page = publisher.get("/tables/new.csv").text
        assert "2 meters" in page
        assert left_aside(project) == []

    def test_a_workbook_and_a_zip_are_tables_as_well(self, publisher, project):
        archive, workbook = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("readings.csv", TABLE)
        pl.read_csv(TABLE).write_excel(workbook)
        for name, content in (("days.zip", archive), ("days.xlsx", workbook)):
            answer = upload(publisher, content.getvalue(), file_name=name)
            assert answer.headers["location"] == f"/tables/{name}"
            assert "2 meters" in publisher.get(f"/tables/{name}").text
            assert project.panel(name).n_series == 2

    def test_what_unpacks_to_much_is_looked_at_by_a_job_and_a_bomb_is_refused(self, publisher, project, monkeypatch):
        monkeypatch.setattr(looks, "QUICK", 1 << 20)
        monkeypatch.setattr(archives, "FREE_UNPACKED", 1 << 20)
        archive, table = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("readings.csv", bytes(4 << 20))
        pl.DataFrame({"id": "a", "time": range(200_000), "value": 1.0}).write_parquet(table)
        assert max(len(archive.getvalue()), len(table.getvalue())) < 1 << 20
        for name, content in (("bomb.zip", archive), ("many.parquet", table)):
            upload(publisher, content.getvalue(), file_name=name)
            answer = publisher.get(f"/tables/{name}")
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/jobs/")
            if name == "bomb.zip":
                assert "unpacks to far more than tables do" in publisher.done(answer).text

    def test_a_table_is_never_replaced(self, publisher, project):
        before = (project.folder / "data" / "days.csv").read_bytes()
        answer = upload(publisher, TABLE, file_name="days.csv")
        assert answer.status_code == 400
        assert "The project already has a table days.csv. Choose another name." in answer.text
        assert (project.folder / "data" / "days.csv").read_bytes() == before
        assert left_aside(project) == []

    @pytest.mark.parametrize(
        ("file_name", "name", "expected"),
        [
            ("../../evil.csv", "", "evil.csv"),
            ("/etc/cron.d/evil.csv", "", "evil.csv"),
            ("..\\..\\evil.csv", "", "evil.csv"),
            (".csv", "", None),
            ("x.csv", "../../up", "up.csv"),
            ("x.csv", "a/b\\c", "a-b-c.csv"),
            ("x.csv", "é" * 100, "table.csv"),
            ("x.csv", "a" * 200, "a" * 64 + ".csv"),
            ("days.csv.exe", "", None),
            ("days", "", None),
            ("days.CSV", "big", "big.csv"),
        ],
    )
    def test_a_name_becomes_a_slug_inside_the_folder(self, publisher, project, file_name, name, expected):
        before = set(project.folder.parent.rglob("*"))
        answer = upload(publisher, TABLE, file_name=file_name, name=name)
        new = {p for p in set(project.folder.parent.rglob("*")) - before if not p.name.startswith("studio.sqlite")}
        if expected is None:
            assert answer.status_code == 400
            assert "ends in .csv, .tsv, .txt, .parquet, .xlsx, .json, .xml or .zip" in answer.text
            assert new == set()
        else:
            assert answer.status_code == 303
            assert new == {project.folder / "data" / expected}

    def test_nothing_is_kept_without_a_session_or_the_token(self, publisher, visitor, project):
        assert upload(visitor, TABLE).status_code == 401
        for token in ("", "0" * 64):
            assert upload(publisher, TABLE, csrf=token).status_code == 403
        late = {"file": ("new.csv", TABLE), "csrf": (None, publisher.csrf)}
        assert publisher.client.post("/tables", files=late).status_code == 403
        assert project.tables() == ["days.csv"]
        assert left_aside(project) == []

    def test_a_table_beyond_the_limit_is_refused_and_nothing_is_left(self, project, clock):
        studio = Studio(project, Settings(upload_bytes=100_000), clock=clock)
        publisher = person(studio)
        publisher.get(f"/enter/{studio.key}")
        publisher.csrf = publisher.get("/").text.partition('name="csrf" value="')[2][:64]
        assert upload(publisher, b"x" * 99_000).status_code == 303
        assert upload(publisher, b"x" * 100_000, name="more").status_code == 413
        cookie = "; ".join(f"{k}={v}" for k, v in publisher.client.cookies.items())
        begin = (
            f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{publisher.csrf}\r\n'
            '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        )
        headers = {"content-type": "multipart/form-data; boundary=x", "cookie": cookie}
        statuses, read = ask(build(studio), "/tables", headers, [begin.encode(), *[b"y" * 5000] * 1000])
        assert statuses == [413]
        assert read < 110_000
        assert project.tables() == ["days.csv", "new.csv"]
        assert left_aside(project) == []
        studio.jobs.close()

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("multipart/form-data", b"--x--"),
            ("multipart/form-data; boundary=x", b"no boundary here"),
            ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data"),
            ("multipart/form-data; boundary=x", b"--x--\r\n"),
            ("text/csv", TABLE),
            ("multipart/form-data; boundary=" + "x" * 300, b""),
            (
                "multipart/form-data; boundary=x",
                b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + b"y" * 9000,
            ),
            ("multipart/form-data; boundary=x", b"--x\r\n" + b"A" * 9000 + b": y\r\n\r\n"),
            ("multipart/form-data; boundary=x", b"--x\r\nA: " + b"y" * 9000 + b"\r\n\r\n"),
            ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 20),
        ],
    )
    def test_a_broken_form_is_an_error_of_the_sender(self, publisher, project, kind, body):
        answer = publisher.client.post("/tables", content=body, headers={"Content-Type": kind})
        assert answer.status_code in (400, 403)
        assert project.tables() == ["days.csv"]
        assert left_aside(project) == []

    def test_two_files_at_once_are_refused(self, publisher, project):
        parts = [("csrf", (None, publisher.csrf)), ("file", ("a.csv", TABLE)), ("more", ("b.csv", TABLE))]
        answer = publisher.client.post("/tables", files=parts)
        assert answer.status_code == 400
        assert "Send one table at a time" in answer.text
        assert project.tables() == ["days.csv"]

    def test_what_a_kill_left_of_an_upload_is_removed_at_the_next_start(self, project, clock):
        (project.folder / "data" / ".upload-abc").write_bytes(TABLE)
        (project.folder / "data" / ".mine").write_bytes(TABLE)
        Studio(project, Settings(), clock=clock).jobs.close()
        assert left_aside(project) == [".mine"]
        assert project.tables() == ["days.csv"]

    def test_an_upload_without_a_file_says_so(self, publisher):
        answer = publisher.client.post("/tables", files={"csrf": (None, publisher.csrf)})
        assert answer.status_code == 400
        assert "No file was chosen" in answer.text


def left_aside(project):
    return [p.name for p in (project.folder / "data").iterdir() if p.name.startswith(".")]
