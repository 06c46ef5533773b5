"""Events with coarser sensitive values, as someone reads them who knows the tree."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.model import EventTables
from shoal.model.event_tables import COUNT


def read_coarser(published: EventTables, tree: Mapping[str, str]) -> EventTables:
    """Bucketised events with each coarser value counted as the values below it, by how often each is published.

    `tree` gives the coarser value of a value. Counts are then parts of events. A coarser value none of whose values is
    published stays, and so do generalised events, in which a record has one value.

    Examples
    --------
    >>> records = pl.DataFrame({"time": [0] * 4, "group": [0] * 4})
    >>> counts = pl.DataFrame({"time": [0] * 3, "group": [0] * 3, "ill": ["flu", "lung", "leg"], "count": [1, 1, 2]})
    >>> seen = read_coarser(EventTables(records, counts, (), "ill"), {"flu": "lung"})
    >>> seen.counts.sort("ill")["count"].to_list()
    [2.0, 2.0]
    """
    counts, sensitive = published.counts, published.sensitive
    if counts is None or not tree:
        return published
    below = pl.DataFrame({"__leaf": list(tree), sensitive: list(tree.values())}, schema_overrides={"__leaf": pl.String})
    often = counts.group_by(pl.col(sensitive).cast(pl.String).alias("__leaf")).agg(pl.col(COUNT).sum().alias("__often"))
    shares = below.join(often, on="__leaf").with_columns(
        __share=pl.col("__often") / pl.col("__often").sum().over(sensitive)
    )
    read = (
        counts.with_columns(pl.col(sensitive).cast(pl.String))
        .join(shares, on=sensitive, how="left")
        .with_columns(
            pl.coalesce("__leaf", sensitive).alias(sensitive), pl.col(COUNT) * pl.col("__share").fill_null(1.0)
        )
        .group_by([name for name in counts.columns if name != COUNT], maintain_order=True)
        .agg(pl.col(COUNT).sum())
    )
    return EventTables(published.records, read.select(counts.columns), published.quasi, sensitive)
