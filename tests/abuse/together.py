"""Several processes at once on one folder, ledger, stream, panel, project or service take turns or are refused."""

import shutil

from abuse import processes as ours
from stream_processes import finish

AT_ONCE = 3


def ask(folder, number, n):
    """What a closed service does: questions, one after another."""
    from shoal.closed import Closed, Count, Mean

    service = Closed(folder / "closed")
    token = service.find(service.register.create(f"recipient {number}", 1)[1])
    for at in range(n):
        if service.ask(token, Count() if at % 2 else Mean()).outcome != "answered":
            raise SystemExit(3)


def make_closed(folder):
    from closed.places import candidate_of, closed, raw_panel

    closed(folder / "closed", candidate_of(raw_panel()), budget=10**6, budget_in_all=10**6)


def all_of(begun):
    return [finish(process) for process in begun]


def run(numbers, size, folder, outcome):
    """The rounds of these numbers, each with several processes for each of six things."""
    kept = folder / "kept"
    kept.mkdir()
    finish(ours.spawn(ours.prepare, kept))
    finish(ours.spawn(make_closed, kept))
    for number in numbers:
        place = folder / f"{number}"
        shutil.copytree(kept, place)

        def wrong(text, number=number):
            if text is not None:
                outcome.find(f"round {number}: {text}")

        codes = all_of([ours.anonymize(place) for _ in range(AT_ONCE)])
        outcome.tries["anonymize --overwrite, one folder and ledger"] += AT_ONCE
        # Whoever comes second finds the same subjects in the ledger, in other groups, and may be refused.
        wrong(None if set(codes) <= {0, 1, 2} and 0 in codes else f"anonymize ends with {codes}")
        wrong(ours.judge_release(place / "out"))
        wrong(ours.judge_ledger(place / "ledger.jsonl"))
        codes = all_of([ours.run_policy(place) for _ in range(AT_ONCE)])
        outcome.tries["run --overwrite, one folder"] += AT_ONCE
        wrong(None if set(codes) <= {0, 2} and 0 in codes else f"run ends with {codes}")
        wrong(ours.judge_release(place / "out-run"))
        codes = all_of([ours.stream(place) for _ in range(AT_ONCE)])
        outcome.tries["stream, one state"] += AT_ONCE
        wrong(None if 0 in codes and set(codes) <= {0, 2} else f"stream ends with {codes}")
        wrong(ours.judge_stream(place))
        codes = all_of([ours.grow(place) for _ in range(AT_ONCE)])
        outcome.tries["grow, one state"] += AT_ONCE
        wrong(None if 0 in codes and set(codes) <= {0, 2} else f"grow ends with {codes}")
        wrong(ours.judge_release(place / "out-grow"))
        codes = all_of([ours.spawn(ours.write_links, place, 1000 * i, 40) for i in range(AT_ONCE)])
        outcome.tries["studio, one project"] += AT_ONCE
        lost, is_whole = ours.lost_links(place)
        wrong(None if set(codes) == {0} and not lost and is_whole else f"studio: {codes}, {lost} lost")
        codes = all_of([ours.spawn(ask, place, i, 30) for i in range(AT_ONCE)])
        outcome.tries["closed service, one log"] += AT_ONCE
        wrong(judge_log(place, AT_ONCE * 30) if set(codes) == {0} else f"closed service: {codes}")
        shutil.rmtree(place)


def judge_log(folder, n):
    from shoal.closed import Closed

    register = Closed(folder / "closed").register
    if register.first_odd() is not None or len(register.entries()) != n:
        return "closed service: the log is not what was asked"
    return None
