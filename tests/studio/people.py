"""Who comes to a studio in the tests, and a clock that goes when it is told to."""

import html
import re
import time
from urllib.parse import urlsplit


class Clock:
    """Seconds that pass by `clock.now += 60`."""

    def __init__(self, now=1_700_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


class Person:
    """A browser without script: cookies, forms with their token, no following of redirects."""

    def __init__(self, client):
        self.client = client
        self.csrf = ""

    def get(self, url, **more):
        return self.client.get(url, **more)

    def post(self, url, data=None, **more):
        return self.client.post(url, data={"csrf": self.csrf} | (data or {}), **more)

    def send(self, url, content, **more):
        return self.client.post(url, json=content, headers={"X-CSRF-Token": self.csrf}, **more)

    def done(self, answer):
        """The page a job leads to, when it has ended."""
        assert answer.status_code == 303, answer.text
        page = answer.headers["location"]
        for _ in range(600):
            answer = self.get(page)
            if answer.status_code == 303:
                return answer.headers["location"]
            if "http-equiv" not in answer.text:
                return answer
            time.sleep(0.05)
        raise AssertionError("the job did not end")

    def make_task(self, name, *, table="days.csv", k=4, multiple=1, pairs=20, **more):
        form = {"name": name, "table": table, "k": str(k), "multiple": str(multiple), "pairs": str(pairs)} | more
        page = self.done(self.post("/tasks", form))
        assert page == f"/tasks/{name}", page

    def make_draft(self, table="days.csv", **more):
        """A draft whose purpose is saved: one method, one point, no limit in its way. Gives its name."""
        answer = self.post(f"/tables/{table}", more.pop("reading", {}))
        assert answer.status_code == 303, answer.text
        draft = answer.headers["location"].split("/")[2]
        form = {
            "method": "microaggregation",
            "microaggregation:k": str(more.pop("k", 4)),
            "knows": "known-points",
            "held:known-points": "2",
            "risk": "100",
            "ledger": "yes",
        } | more
        saved = self.post(f"/drafts/{draft}/purpose", {name: text for name, text in form.items() if text})
        assert saved.status_code == 303, saved.text
        return draft

    def explore(self, draft):
        """Wait until everything was tried; gives the points."""
        for _ in range(1200):
            found = self.get(f"/drafts/{draft}/explore/points").json()
            if found["state"] != "running":
                return found["points"]
            time.sleep(0.05)
        raise AssertionError("the search did not end")

    def choose(self, table="days.csv", *, number=0, **more):
        """A draft with a chosen point; gives its name."""
        draft = self.make_draft(table, **more)
        assert self.explore(draft), self.get(f"/drafts/{draft}/explore").text
        chosen = self.post(f"/drafts/{draft}/explore/choice", {"number": str(number)})
        assert chosen.headers.get("location") == f"/drafts/{draft}/review", chosen.text
        return draft

    def release(self, table="days.csv", *, alike="refuse", **more):
        """Release a table by a draft of its own: gives the page the job leads to, or its refusal."""
        draft = self.choose(table, **more)
        return self.done(self.post(f"/drafts/{draft}/release", {"alike": alike}))

    def make_link(self, task, analyst, days=7):
        """The path of a new link."""
        page = self.post(f"/tasks/{task}/links", {"analyst": analyst, "days": str(days)}).text
        return urlsplit(html.unescape(re.search(r'class="link" readonly value="([^"]+)"', page)[1])).path

    def state(self):
        return self.get("/label/api/state").json()

    def answer_all(self, answer="similar"):
        """Every question until there is none; `answer` may be a function of the pair."""
        state = self.state()
        while state["pair"]:
            said = answer(state["pair"]) if callable(answer) else answer
            answered = self.send("/label/api/answer", {"position": state["pair"]["position"], "answer": said})
            assert answered.status_code == 200, answered.text
            state = answered.json()
        return state
