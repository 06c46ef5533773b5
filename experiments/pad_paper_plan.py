"""What experiments/pad_paper.py measures, and how much of it."""

from dataclasses import dataclass

from shoal.labels import MULTIPLE


@dataclass(frozen=True)
class Plan:
    """Sizes of everything."""

    ks: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    middle: int = 4  # of table 1 and figure 10
    shown: tuple[int, int] = (2, 7)  # of figures 6 and 7
    repetitions: int = 3
    multiple: int = MULTIPLE  # groups shown to analysts have this many times k days
    multiples: tuple[int, ...] = (1, 2, 4, 8)  # tried for that
    shown_ks: tuple[int, ...] = (2, 4)
    shown_pairs: int = 400  # labels of a task where multiples are tried
    n_pairs: int = 2775  # as many as the paper has for its peak hours
    labels: tuple[int, ...] = (25, 50, 100, 200, 400)
    folds: int = 5  # of figure 5
    sizes: tuple[int, ...] = (250, 500, 1000, 2000)  # n of figure 12
    dimensions: tuple[int, ...] = (24, 48, 96, 192, 384)  # m
    crowds: tuple[int, ...] = (2, 4, 8, 16)  # k
    usual: tuple[int, int, int] = (1000, 96, 4)  # n, m and k while another is varied
    takes: int = 3  # of each time; the fastest counts
    pairs: tuple[int, ...] = (250, 500, 1000, 2000, 4000)  # of figure 13
    widths: tuple[int, ...] = (24, 48, 96, 192)
    passes: int = 20


QUICK = Plan(
    ks=(2, 3),
    middle=3,
    shown=(2, 3),
    repetitions=1,
    multiple=2,
    multiples=(1, 2),
    shown_ks=(2,),
    shown_pairs=80,
    n_pairs=80,
    labels=(40,),
    folds=2,
    sizes=(60, 120),
    dimensions=(12, 24),
    crowds=(2, 4),
    usual=(60, 24, 3),
    takes=1,
    pairs=(60, 120),
    widths=(12, 24),
    passes=3,
)
