"""Coarser sensitive values, as someone reads them who knows the tree."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.model import EventTables
from shoal.model.event_tables import COUNT


def published_counts(published: EventTables) -> pl.DataFrame:
    """How often each sensitive value is published: rows of counts, or one row for each generalised event."""
    return published.records.with_columns(pl.lit(1).alias(COUNT)) if published.counts is None else published.counts


def read_coarser(
    counted: pl.DataFrame, amount: str, published: EventTables, tree: Mapping[str, str] | None
) -> pl.DataFrame:
    """Rows with each coarser value replaced by the values below it, by how often each is published.

    `amount` is the column that is divided among them, and `tree` gives the coarser value of a value. If none of the
    values below is published, all are equally likely.

    Examples
    --------
    >>> records = pl.DataFrame({"time": [0] * 4, "ill": ["flu", "lung", "leg", "leg"]})
    >>> published = EventTables(records, None, (), "ill")
    >>> read_coarser(published_counts(published), "count", published, {"flu": "lung"})["ill"].to_list()
    ['flu', 'flu', 'leg', 'leg']
    """
    if not tree:
        return counted
    sensitive = published.sensitive
    kind = counted.schema[sensitive]
    below = pl.DataFrame({"__leaf": list(tree), sensitive: list(tree.values())}, schema_overrides={"__leaf": pl.String})
    often = published_counts(published).group_by(pl.col(sensitive).cast(pl.String).alias("__leaf"))
    counted_below = below.join(often.agg(pl.col(COUNT).sum().alias("__often")), on="__leaf", how="left")
    number, total = pl.col("__often").fill_null(0), pl.col("__often").sum().over(sensitive)
    equal = 1.0 / pl.len().over(sensitive)
    shares = counted_below.with_columns(__share=pl.when(total > 0).then(number / total).otherwise(equal))
    shares = shares.filter(pl.col("__share") > 0.0)
    return (
        counted.with_columns(pl.col(sensitive).cast(pl.String))
        .join(shares, on=sensitive, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("__leaf", sensitive).cast(kind).alias(sensitive),
            pl.col(amount) * pl.col("__share").fill_null(1.0),
        )
        .select(counted.columns)
    )
