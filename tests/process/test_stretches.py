"""Tables of a panel that grows, as they are read."""

import polars as pl

from shoal.process.stretches import stretches


def test_what_was_done_to_readings_is_told(tmp_path):
    table = pl.DataFrame({"id": ["a"] * 5, "time": [0, 1, 1, 2, 3], "value": [1.0, 2.0, 2.0, 3.0, 4.0]})
    table.write_parquet(tmp_path / "x.parquet")
    told = []
    found = list(stretches(tmp_path / "x.parquet", {}, every="2", known=lambda sha256: False, tell=told.append))
    assert [arrived.panel.values.tolist() for arrived in found] == [[[1.0, 2.0]], [[3.0, 4.0]]]
    assert told == ["x.parquet: Exact repeats taken once: 1."]
