"""A table as a utility has it: half-hourly, on a local clock over both changes, with everything that goes wrong."""

import numpy as np
import polars as pl

from shoal.read.zones import Zone

ZONE = "Europe/London"
N_ACCOUNTS = 26
N_TWO_METERS = 4
N_ZERO = 2
N_REPEATS = 25
N_CONFLICTS = 15
N_SHORT_GAPS = 12
N_LONG_GAPS = 2
N_MISSING = 40


def messy_table(seed=0, start="2023-03-20", end="2023-11-05"):
    """Rows by meter and time, as text: account, meter, tariff, postcode, time, kwh."""
    random = np.random.default_rng(seed)
    utc = np.arange(np.datetime64(start, "us"), np.datetime64(end, "us"), np.timedelta64(30, "m")).astype(np.int64)
    local = Zone(ZONE).to_local(utc).view("datetime64[us]")
    n_meters = N_ACCOUNTS + N_TWO_METERS
    owner = np.concatenate([np.arange(N_ACCOUNTS), np.arange(N_TWO_METERS)])
    hour = (local.astype("datetime64[m]").astype(np.int64) % 1440) / 60
    evening = 0.15 + 0.4 * np.exp(-(((hour - 19) / 2.5) ** 2)) + 0.2 * np.exp(-(((hour - 8) / 1.5) ** 2))
    values = evening * random.lognormal(0.0, 0.3, (n_meters, 1)) * random.gamma(4.0, 0.25, (n_meters, len(utc)))
    values = np.round(values, 3)
    values[-N_ZERO:] = 0.0
    kept = np.ones(values.shape, dtype=bool)
    for meter in random.choice(n_meters - N_ZERO, N_SHORT_GAPS, replace=False):
        at = random.integers(100, 3000)
        kept[meter, at : at + 3] = False
    for meter in (5, 9)[:N_LONG_GAPS]:
        kept[meter, 4000:4300] = False
    text = values.astype(str).astype(object)
    missing = random.choice(np.flatnonzero(kept[12:20, 200:-200].ravel()), N_MISSING, replace=False)
    rows, columns = np.divmod(missing, len(utc) - 400)
    text[12 + rows, 200 + columns] = "NA"
    meters, at = np.nonzero(kept)
    table = pl.DataFrame(
        {
            "account": [f"AC{7000 + owner[meter] * 13}" for meter in meters.tolist()],
            "meter": [f"MTR-{91000 + meter * 7}" for meter in meters.tolist()],
            "tariff": [("T-day", "T-two", "T-green")[owner[meter] % 3] for meter in meters.tolist()],
            "postcode": [f"AB{1 + owner[meter] % 9} {owner[meter] % 5}XY" for meter in meters.tolist()],
            "reading_time": pl.Series(local[at]).dt.strftime("%Y-%m-%d %H:%M"),
            "kwh": text[meters, at].astype(str),
        }
    )
    again = table[random.choice(len(table) // 3, N_REPEATS, replace=False)]
    other = table[len(table) // 2 + random.choice(len(table) // 4, N_CONFLICTS, replace=False)]
    other = other.with_columns(kwh=pl.lit("0.777"))
    return pl.concat([table, again, other])
