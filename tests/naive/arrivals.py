"""The rules of arriving events, one event at a time."""


def arrive(events, *, every=None, lateness=0, known=None):
    """Snapshots in the order in which they close, those left open, and counts.

    `events` are (time, sensitive, id): a time is a whole number or None, a sensitive value or an id may be None, and
    None in place of an event is a line that cannot be read.
    """
    latest = None
    opened, ids, closed = {}, {}, []
    counts = dict.fromkeys(("malformed", "incomplete", "unknown", "late", "duplicates", "out_of_order"), 0)

    def snapshot_of(time):
        return time if every is None else time // every * every

    def is_closed_by(snapshot, time):
        if every is None:
            return time > snapshot and time - snapshot >= lateness
        return time - (snapshot + every) >= lateness

    for event in events:
        if event is None:
            counts["malformed"] += 1
            continue
        time, sensitive, name = event
        if time is None or sensitive is None:
            counts["incomplete"] += 1
            continue
        if known is not None and sensitive not in known:
            counts["unknown"] += 1
            continue
        own = snapshot_of(time)
        if latest is not None and is_closed_by(own, latest):
            counts["late"] += 1
            continue
        backward = latest is not None and own < snapshot_of(latest)
        latest = time if latest is None else max(latest, time)
        for snapshot in sorted(opened):
            if is_closed_by(snapshot, latest):
                closed.append((snapshot, opened.pop(snapshot)))
                ids.pop(snapshot)
        if name is not None and name in ids.get(own, ()):
            counts["duplicates"] += 1
            continue
        counts["out_of_order"] += backward
        opened.setdefault(own, []).append(sensitive)
        ids.setdefault(own, set()).add(name)
    return closed, sorted(opened.items()), counts
