"""m-invariance read out loud, row by row.

    V(t, g)    the values that the table of counts has for group g of snapshot t
    it holds   all groups in which a subject is published have the same V, of m values or more, and no subject is
               published twice in a snapshot

`events` are dicts with subject (None: nobody else's), time and group as published, or time None where suppressed.
"""


def naive_m_invariant(events, counts, value, m):
    published = [event for event in events if event["time"] is not None]
    shown = {}
    for row in counts:
        shown.setdefault((row["time"], row["group"]), set()).add(row[value])
    for event in published:
        own = shown[event["time"], event["group"]]
        if len(own) < m:
            return False
        for other in published:
            if other is event or event["subject"] is None or other["subject"] != event["subject"]:
                continue
            if other["time"] == event["time"] or shown[other["time"], other["group"]] != own:
                return False
    return bool(published)


def naive_intersection(per_event, own):
    """The mean over a subject's own values of p(v), proportional to the product over its events of their shares.

    `per_event` are dicts from values to shares; None of a product left: the mean of the shares by themselves.
    """
    values = {value for shares in per_event for value in shares}
    joint = {}
    for value in values:
        product = 1.0
        for shares in per_event:
            product *= shares.get(value, 0.0)
        joint[value] = product
    total = sum(joint.values())
    if total == 0.0:
        return sum(shares.get(value, 0.0) for shares, value in zip(per_event, own, strict=True)) / len(own)
    return sum(joint.get(value, 0.0) / total for value in own) / len(own)
