"""What an analyst is asked, what he answered, and what follows from it.

The publisher is trusted, the analyst is not: nothing in a `LabelTask` comes from unprotected data.
"""

from shoal.process.labelling.agreement import Agreement, Share, agreement, consistency
from shoal.process.labelling.comparing import Compared, compare
from shoal.process.labelling.files import (
    export_pairs,
    load_asked,
    load_labels,
    read_labels,
    refuse_name,
    store_asked,
    store_labels,
)
from shoal.process.labelling.labels import Answer, Label, Labels, labelled_pairs
from shoal.process.labelling.learning import CurvePoint, curve, learn
from shoal.process.labelling.questions import DEFAULT_QUESTION, Choice, Question
from shoal.process.labelling.rounds import HandedOut, TakenIn, build_task, hand_out, is_task, learn_from, take_in
from shoal.process.labelling.sentences import CURVES, NEXT_RELEASE, PAIRS
from shoal.process.labelling.shown import MULTIPLE, copies
from shoal.process.labelling.stopping import Advice, advice
from shoal.process.labelling.storing import refuse_folder
from shoal.process.labelling.task import LabelTask

__all__ = [
    "CURVES",
    "DEFAULT_QUESTION",
    "MULTIPLE",
    "NEXT_RELEASE",
    "PAIRS",
    "Advice",
    "Agreement",
    "Answer",
    "Choice",
    "Compared",
    "CurvePoint",
    "HandedOut",
    "Label",
    "LabelTask",
    "Labels",
    "Question",
    "Share",
    "TakenIn",
    "advice",
    "agreement",
    "build_task",
    "compare",
    "consistency",
    "copies",
    "curve",
    "export_pairs",
    "hand_out",
    "is_task",
    "labelled_pairs",
    "learn",
    "learn_from",
    "load_asked",
    "load_labels",
    "read_labels",
    "refuse_folder",
    "refuse_name",
    "store_asked",
    "store_labels",
    "take_in",
]
