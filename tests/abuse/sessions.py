"""Whatever is sent to the studio or to a closed service: no server error, our headers, no word of the data.

Real sessions are recorded as they reach the application, then sent again with something done to them: to the address,
the headers, the body, or by someone else. One request in twenty is made by schemathesis from the description.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import urllib.parse
import warnings

from abuse.mutation import THINGS, WORDS, mutate_bytes, mutate_tree

BATCH = 4000
"""Requests to one copy of a place: what was removed by some is there again for the next."""
MOST_JOBS = 5
"""Of the jobs that requests to one copy begin, so many are done; the others are stopped at once."""
MARK = "QZX"
"""In every identifier of the table."""
SCHEMATHESIS = 0.05


class Recorder:
    """An application that remembers every request on its way to another one."""

    def __init__(self, app):
        self.app, self.seen = app, []

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        body = b""

        async def remembered():
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        await self.app(scope, remembered, send)
        path, query = scope["raw_path"], scope["query_string"]
        self.seen.append((scope["method"], path.decode(), query, list(scope["headers"]), body))
        return None


async def ask(app, method, path, query, headers, body):
    """Send a request as a server would; gives status, headers and body of the answer."""
    found = {"body": b""}
    sent = False

    async def receive():
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            found["status"], found["headers"] = message["status"], dict(message["headers"])
        else:
            found["body"] += message.get("body", b"")

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": urllib.parse.unquote(path, errors="replace"),
        "raw_path": path.encode(errors="replace"),
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8765),
    }
    await app(scope, receive, send)
    return found


def mutate_request(rng, request, requests, cookies):
    """Something done to a recorded request."""
    method, path, query, headers, body = request
    headers = list(headers)
    for _ in range(rng.randint(1, 2)):
        kind = rng.randrange(8)
        if kind == 0:
            path = _mutate_path(rng, path)
        elif kind == 1:
            query = mutate_bytes(rng, query or b"a=b&page=2", body)[:2000].replace(b" ", b"+")
        elif kind == 2:
            headers = _mutate_headers(rng, headers, cookies)
        elif kind == 3:
            method = rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"])
        elif kind == 4:
            other = rng.choice(requests)
            body, headers = other[4], _with(headers, b"content-type", dict(other[3]).get(b"content-type"))
        else:
            body = _mutate_body(rng, body, dict(headers).get(b"content-type", b""))
    return method, path, query, _with(headers, b"content-length", str(len(body)).encode()), body


def _with(headers, name, value):
    return [pair for pair in headers if pair[0] != name] + ([(name, value)] if value is not None else [])


def _mutate_path(rng, path):
    parts = path.split("/")
    at = rng.randrange(len(parts))
    odd = ["", "..", ".", "%2e%2e", "%00", "%ff", "days.csv", "lunch", "-1", "0", "9" * 30, "a" * 3000, "\u202e", "x;y"]
    kind = rng.randrange(3)
    if kind == 0:
        parts[at] = rng.choice(odd)
    elif kind == 1:
        parts.insert(at, rng.choice(odd))
    else:
        del parts[at]
    return "/" + urllib.parse.quote("/".join(parts).lstrip("/"), safe="/%.;")


def _mutate_headers(rng, headers, cookies):
    kinds = [b"text/plain", b"application/json", b"multipart/form-data", b"multipart/form-data; boundary=x"]
    kinds += [b"application/x-www-form-urlencoded; charset=utf-16", b"\xff", b""]
    change = rng.randrange(6)
    if change == 0:
        return _with(headers, b"cookie", rng.choice([*cookies, None, b"a=b; =; \xff"]))
    if change == 1:
        return _with(headers, b"content-type", rng.choice(kinds))
    if change == 2:
        return _with(headers, b"host", rng.choice([b"evil.example", b"", b"127.0.0.1:8765", b"[::1", b"\xff"]))
    if change == 3:
        return _with(headers, b"origin", rng.choice([b"null", b"https://evil.example", b"http://127.0.0.1:8765"]))
    if change == 4 and headers:
        at = rng.randrange(len(headers))
        return headers[:at] + headers[at + 1 :]
    name = rng.choice([b"range", b"if-none-match", b"transfer-encoding", b"x-csrf-token", b"authorization", b"accept"])
    return [*headers, (name, rng.choice([b"", b"bytes=0-", b"chunked", b"\xff\xfe", b"Bearer x", b"*/*;q=nan"]))]


def _mutate_body(rng, body, kind):
    if b"json" in kind and rng.random() < 0.8:
        with contextlib.suppress(ValueError):
            return json.dumps(mutate_tree(rng, json.loads(body))).encode(errors="surrogatepass")
    if b"urlencoded" in kind and rng.random() < 0.8:
        fields = urllib.parse.parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
        for _ in range(rng.randint(1, 3)):
            if not fields:
                break
            at = rng.randrange(len(fields))
            name, value = fields[at]
            odd = str(rng.choice([rng.choice(WORDS), *map(str, THINGS), value * 3, value[:-1]]))
            if name == "csrf" and rng.random() < 0.8:
                continue
            change = rng.randrange(4)
            if change == 0:
                fields.append((name, odd))
            elif change == 1:
                del fields[at]
            else:
                fields[at] = (name, odd) if change == 2 else (odd[:100], value)
        return urllib.parse.urlencode(fields, errors="surrogatepass").encode()
    return mutate_bytes(rng, body)


# The studio


def make_studio(folder):
    """A project with a task, a release and a review, and every request on the way there."""
    import polars as pl
    from starlette.testclient import TestClient

    from shoal import simulate
    from shoal.process.simulation import long_table
    from shoal.studio.app import build
    from shoal.studio.context import Settings, Studio
    from shoal.studio.project import Project
    from studio.people import Person

    project = Project(folder)
    table = long_table(simulate.occupancy(20, days=1, step="2h", seed=1))
    table = table.with_columns(pl.format("QZX{}", pl.col("id")).alias("id"))
    table.write_csv(folder / "data/days.csv")
    studio = Studio(project, Settings())
    recorder = Recorder(build(studio))

    def person():
        return Person(TestClient(recorder, base_url="http://127.0.0.1:8765", follow_redirects=False))

    publisher = person()
    publisher.get(f"/enter/{studio.key}")
    publisher.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', publisher.get("/").text)[1]
    publisher.client.post(
        "/tables", data={"csrf": publisher.csrf}, files={"file": ("more.csv", table.head(60).write_csv().encode())}
    )
    for page in ("/", "/tables/days.csv", "/jobs", "/tasks", "/releases", "/connections", "/login"):
        publisher.get(page)
    publisher.make_task("lunch", pairs=6, k=2)
    draft = publisher.choose(k=2)
    for step in ("table", "purpose", "explore", "review", "release"):
        publisher.get(f"/drafts/{draft}/{step}")
    publisher.done(publisher.post(f"/drafts/{draft}/release", {"alike": "refuse"}))
    analyst = person()
    analyst.get(publisher.make_link("lunch", "anna"))
    analyst.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', analyst.get("/label").text)[1]
    state = analyst.state()
    analyst.send("/label/api/answer", {"position": state["pair"]["position"], "answer": "similar"})
    publisher.get("/tasks/lunch")
    studio.jobs.close()
    kept = {}
    for request in recorder.seen:  # pages that were asked for again and again while something ran
        kept.setdefault((request[0], request[1], request[4]), request)
    return list(kept.values())


def open_studio(folder, outcome):
    """The application over a copy of the project, on which few jobs are done."""
    from shoal.studio.app import build
    from shoal.studio.context import Settings, Studio
    from shoal.studio.project import Project
    from shoal.studio.sessions import Sessions

    Sessions.close_publishers = lambda self: None  # the recorded session stays good over a new start
    studio = Studio(Project(folder), Settings())
    submit, left = studio.jobs._submit, MOST_JOBS

    def few(name):
        nonlocal left
        left -= 1
        if left >= 0:
            submit(name)
        else:
            studio.jobs.stop(name)

    studio.jobs._submit = few

    def close():
        studio.jobs.close()
        studio.jobs._worker.shutdown()  # its folder is removed next
        for job in studio.jobs.listed():
            if "internal error" in job.message:
                outcome.find(f"studio: a job of kind {job.kind} failed inside")

    return build(studio), close


# The closed service

QUESTIONS = [
    {"kind": "count"},
    {"kind": "count", "where": [{"kind": "range", "at": 3, "low": 1.0, "high": 4.5}]},
    {
        "kind": "mean",
        "start": 2,
        "end": 7,
        "where": [{"kind": "window", "start": 0, "end": 5, "of": "least", "low": 0.1}],
    },
    {"kind": "quantile", "q": 0.5, "where": [{"kind": "range", "at": "2024-01-31T18:00", "low": None}]},
]


def make_closed(folder):
    """A closed folder, and requests with a token that opens it."""
    from closed.places import candidate_of, closed, raw_panel

    service = closed(folder, candidate_of(raw_panel()), budget=10**9, budget_in_all=10**9)
    secret = service.register.create("north", 30)[1]
    token = [(b"host", b"127.0.0.1:8766"), (b"authorization", f"Bearer {secret}".encode())]
    plain = [*token, (b"content-type", b"application/json")]
    pages = [("GET", path, b"", token, b"") for path in ("/about", "/budget", "/openapi.json")]
    return pages + [("POST", "/ask", b"", plain, json.dumps(question).encode()) for question in QUESTIONS * 4]


def open_closed(folder, outcome):
    from shoal.closed import Closed
    from shoal.studio.closed_app import ClosedSettings, build_closed

    return build_closed(Closed(folder), ClosedSettings()), lambda: None


# Both


def judge(name, number, request, answer):
    """What is wrong with an answer, if anything is."""
    from shoal.studio.security import CONTENT_POLICY

    said = f"{name}:{number} {request[0]} {request[1][:80]}"
    if "status" not in answer:
        return f"{said} is not answered"
    if answer["status"] >= 500:
        return f"{said} is answered with {answer['status']}"
    if answer["headers"].get(b"content-security-policy") != CONTENT_POLICY.encode():
        return f"{said} is answered without the policy of contents"
    if MARK.encode() in answer["body"] and MARK not in (request[1] + repr(request[4]) + repr(request[2])):
        return f"{said} is answered with an identifier of the table"
    return None


def described(app, requests, number, n, outcome, name):
    """Requests that schemathesis makes of the description, right and wrong ones."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode

    own = next(dict(request[3]) for request in requests if request[1] in ("/tasks/lunch", "/about"))
    headers = {k.decode(): v.decode() for k, v in own.items() if k in (b"cookie", b"authorization", b"host")}
    tokens = [
        r[4][5:69].decode() for r in requests if r[4].startswith(b"csrf=") and dict(r[3])[b"cookie"] == own[b"cookie"]
    ]
    headers |= {"X-CSRF-Token": tokens[0]} if tokens else {}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)
    operations = [found.ok() for found in schema.get_all_operations()]
    operations = [operation for operation in operations if "logout" not in operation.label]
    each = max(1, n // (2 * len(operations)))
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @seed(number)
            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=each,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            def send(case):
                outcome.tries[f"{name}, by schemathesis"] += 1
                answer = case.call(
                    base_url=f"http://{headers['host']}",
                    headers={**(case.headers or {}), **headers},
                    allow_redirects=False,
                )
                if answer.status_code >= 500:
                    outcome.find(f"{name} by schemathesis: {case.as_curl_command()[:300]} gives {answer.status_code}")

            with contextlib.suppress(Unsatisfiable):
                send()


PLACES = {"studio": (make_studio, open_studio, 0.7), "closed service": (make_closed, open_closed, 0.3)}


def run(numbers, size, folder, outcome):
    """The requests of these numbers, the first to the studio and the last to the closed service."""
    from shoal.studio import rate_limit

    rate_limit.CLIENT_FREE = rate_limit.ALL_FREE = 10**9  # slowed, most would be answered before they are looked at
    os.fsync = lambda descriptor: None
    warnings.simplefilter("ignore")
    done = 0
    loop = asyncio.new_event_loop()
    for name, (make, opened, share) in PLACES.items():
        requests = make(folder / name)
        requests = [request for request in requests if "logout" not in request[1]]
        cookies = sorted({value for request in requests for key, value in request[3] if key == b"cookie"})
        own = numbers[done : done + round(len(numbers) * share)]
        done += len(own)
        copy, kept = folder / name, folder / f"{name} as it was"  # cookies are called after the place
        shutil.move(copy, kept)
        for at in range(0, len(own), BATCH):
            batch = own[at : at + BATCH]
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(kept, copy)
            app, close = opened(copy, outcome)
            described(app, requests, batch[0], int(len(batch) * SCHEMATHESIS), outcome, name)
            for number in batch:
                rng = random.Random(f"{name}:{number}")
                request = mutate_request(rng, rng.choice(requests), requests, cookies)
                try:
                    answer = loop.run_until_complete(ask(app, *request))
                except Exception as error:
                    answer = {"status": 599, "headers": {}, "body": b"", "error": type(error).__name__}
                outcome.tries[f"{name}, of mutated sessions"] += 1
                if wrong := judge(name, number, request, answer):
                    outcome.find(wrong + " " + answer.get("error", ""))
            close()
