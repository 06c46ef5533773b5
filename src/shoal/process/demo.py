"""The whole process on simulated households, with a policy saved next to the release for you to read and change."""

from __future__ import annotations

from pathlib import Path

from shoal import simulate
from shoal.errors import ReleaseError
from shoal.model.watcher import Watcher, silent
from shoal.process.policy import parse_policy
from shoal.process.policy_run import Outcome, run_policy
from shoal.process.simulation import long_table
from shoal.release import check_target

DEMO_FOLDER = Path("shoal-demo")
N_HOUSEHOLDS = 500

_POLICY = """\
# What `shoal demo` did. Change it and run it again:  shoal run {policy}
data:
  path: {table}
  id: id
  time: time
  value: value
# The column family is not listed, so it is withheld.
adversary:
  knows:
    # The total of every day, as on a bill, in the unit of the data. Add points: 5 for five exact readings as well.
    known-totals: {{step: day, scale: same}}
  scenario: prosecutor  # the chance for the surest target counts
require:
  risk: {{at_most: 0.1}}
  utility: {{information-loss: {{at_most: 0.7}}}}
method:
  name: microaggregation
  k: {k}
release:
  model: publish
  to: {release}
  overwrite: {overwrite}
seed: {seed}
"""


def run_demo(out: Path, *, k: int | None = None, seed: int = 0, steps: Watcher = silent) -> tuple[Outcome, Path]:
    """Simulate 500 households over two hourly weeks, search, attack, check and publish; also returns the policy file.

    The table and the policy are written next to the release. Without `k`, the policy searches for one.
    """
    # Only its own folder is replaced without asking.
    ours = out == DEMO_FOLDER
    check_target(out, overwrite=ours)
    table, policy = (out.with_name(out.name + ending) for ending in ("-meters.parquet", "-policy.yaml"))
    steps.start(f"simulating {N_HOUSEHOLDS} households")
    panel = simulate.meters(N_HOUSEHOLDS, days=14, step="1h", families={"household": 1.0}, seed=seed)
    text = _POLICY.format(
        policy=policy.name,
        table=table.name,
        k="{search: [5, 10, 15, 20, 25]}" if k is None else k,
        release=out.name,
        overwrite=str(ours).lower(),
        seed=seed,
    )
    for path in (table, policy):
        if path.exists() and not ours:
            raise ReleaseError(f"{str(path)!r} exists. Choose another name with --out or remove it.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        long_table(panel).write_parquet(table)
        policy.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"Cannot write beside {str(out)!r}: {error.strerror}.") from None
    return run_policy(parse_policy(text, name=policy.name), base=out.parent, steps=steps), policy
