"""What happens to a release that leaves out much: where it stops, and what its publisher and its readers learn.

Suppression removes events with values that are too frequent, so the most frequent value of the originals may be the
second of the release. The publisher learns the loss of each value, on the terminal by rank and in the private folder by
name. Readers must not: someone who knows that a person was suppressed, and which value most of the suppressed have,
knows too much. They learn only what follows from the release and the number of suppressed events: bounds on the share
of a value among the originals.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.model import Candidate, CandidateShards, EventsCandidate, EventTables, Profiles, Recipe, Suppression
from shoal.model.event_tables import COUNT
from shoal.release.publishers_word import rough

LIMIT = 0.25
"""The largest share that may be suppressed by default."""

NOTABLE = 0.10
"""The share above which the publisher and the readers are warned."""

_SHOWN = 5
_IN_A_POLICY = ", in a policy require: {suppression: {at_most: 0.5}}"  # policies are about series


def suppression_of(candidate: Candidate | EventsCandidate | CandidateShards) -> Suppression:
    """What a candidate leaves out of its originals; series left out by sampling do not count."""
    if isinstance(candidate, CandidateShards):
        return candidate.add_up(_of_shard)
    if isinstance(candidate, EventsCandidate):
        return candidate.suppression
    figures = candidate.recipe.figures
    last = figures["steps"][-1] if candidate.recipe.method == "steps" else figures
    lost = int(last.get("series_suppressed", 0)) + int(last.get("series_withheld", 0))
    published = candidate.published
    if isinstance(published, Profiles):
        return Suppression(int((candidate.private.groups >= 0).sum()), lost, "series")
    return Suppression(published.n_series, lost, "series")


def _of_shard(number: int, candidate: Candidate) -> Suppression:
    return suppression_of(candidate)


def check_suppression_limit(limit: float) -> None:
    """Refuse a limit that is not a share."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0.0 <= limit <= 1.0:
        raise ParameterError("suppression_limit must be a share from 0 to 1, such as 0.25.")


def refuse_suppression(found: Suppression, limit: float, recipe: Recipe) -> str | None:
    """Why a candidate that leaves out too much is refused, with the ways out; None if it may leave."""
    check_suppression_limit(limit)
    if found.share <= limit:
        return None
    return (
        f"{found.lost} of {found.n_originals} {found.what} ({percent(found.share)}) would be suppressed, more than the "
        f"limit of {percent(limit)}.{order_sentence(found)} {advice(found, recipe)} Or allow it: "
        f"suppression_limit, on the command line --suppression-limit{_IN_A_POLICY if found.what == 'series' else ''}."
    )


def warning_of(found: Suppression, recipe: Recipe) -> str | None:
    """What to tell the publisher about a release that leaves out a notable share; None if it is small."""
    if found.share <= NOTABLE:
        return None
    return (
        f"{found.lost} of {found.n_originals} {found.what} ({percent(found.share)}) were suppressed, so figures taken "
        f"from the release may differ much from the originals'.{order_sentence(found)} {advice(found, recipe)}"
    )


def order_sentence(found: Suppression) -> str:
    """Says if the most frequent value has changed, with a space before; empty if it has not."""
    if not found.values or found.ranks[0] == 1:
        return ""
    return f" The most frequent value of the originals is number {found.ranks[0]} of the release."


def advice(found: Suppression, recipe: Recipe) -> str:
    """What would suppress less, as far as the counts say: bounds over every possible window, not promises."""
    l = recipe.parameters.get("l")
    if found.what == "series" or not isinstance(l, int):
        return "Ask less of the method: lower k, p or size, for example."
    if not found.values:
        return "A wider window, longer snapshots or a smaller l may suppress less."
    needed = least_suppressed(found, l) / found.n_originals
    lines = [
        f"A wider window or longer snapshots may suppress less: at l = {l} all events in one window need "
        f"{percent(needed)}."
        if needed < found.share
        else f"No window suppresses less at l = {l}: one value is that frequent."
    ]
    if l > 2:
        fewer = percent(least_suppressed(found, l - 1) / found.n_originals)
        lines.append(f"At l = {l - 1} at least {fewer} are suppressed, whatever the window.")
    lines.append("Finer sensitive values help if the most frequent one can be split; coarser ones never do.")
    return " ".join(lines)


def least_suppressed(found: Suppression, l: int) -> int:
    """How many events must be left out so that no value has a share above 1/l of the rest, however they are moved."""
    # Imported late: it is compiled on first use.
    from shoal.kernels.reposition import first_level

    counts = np.array([loss.before for loss in found.values], dtype=np.int64)
    return int(counts.sum() - first_level(counts, l)[1])


def loss_by_value(found: Suppression) -> str:
    """The loss of the most frequent values by rank, for the publisher's terminal."""
    shown = [
        f"no. {before} of the originals {percent(loss.before / found.n_originals)} -> "
        f"{percent(loss.after / found.kept)}, no. {after} of the release"
        for before, (loss, after) in enumerate(zip(found.values[:_SHOWN], found.ranks[:_SHOWN], strict=True), 1)
    ]
    more = len(found.values) - len(shown)
    return "; ".join([*shown, *([f"{more} more"] if more else [])])


def table_by_value(found: Suppression) -> bytes:
    """The loss of every value by name as CSV, for the private folder."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("value", "before", "after"))
    rows.writerows((loss.value, loss.before, loss.after) for loss in found.values)
    return text.getvalue().encode()


def readers_figures(published: EventTables, found: Suppression) -> dict[str, Any]:
    """What readers learn about suppression; all of it follows from the tables and the number of suppressed events.

    `values` has the most frequent published ones: their share of the release, and the least and the largest share they
    can have had of the originals. `order_open`: whether another value may have been the most frequent one.
    """
    if not found.lost:
        return {}
    table = published.records if published.counts is None else published.counts
    number = pl.len() if published.counts is None else pl.col(COUNT).sum()
    counts = table.group_by(published.sensitive).agg(number.alias("__n"))["__n"].sort(descending=True).to_list()
    values = [
        {
            "published": rough(n / found.kept),
            # In tenths of a per cent, outwards: the true share must lie between them.
            "least": (1000 * n // found.n_originals) / 1000,
            "most": -(-1000 * (n + found.lost) // found.n_originals) / 1000,
        }
        for n in counts[:_SHOWN]
    ]
    second = counts[1] if len(counts) > 1 else 0
    return {"share": rough(found.share), "values": values, "order_open": second + found.lost >= counts[0]}


def percent(share: float) -> str:
    """A share as people read it: 43.0 %."""
    return f"{100 * share:.3g} %"
