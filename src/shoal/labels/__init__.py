"""What an analyst is asked, what they answered, and what follows from it.

The publisher is trusted, the analyst is not: nothing in a `LabelTask` comes from unprotected data.
"""

from shoal.labels.advice import StopAdvice, advice
from shoal.labels.agreement import LabelAgreement, Share, agreement, consistency
from shoal.labels.comparison import MetricLoss, compare
from shoal.labels.files import (
    export_pairs,
    load_asked,
    load_labels,
    read_labels,
    refuse_name,
    store_asked,
    store_labels,
)
from shoal.labels.labels import Answer, Label, Labels, labelled_pairs
from shoal.labels.metric import CurvePoint, curve, learn
from shoal.labels.questions import DEFAULT_QUESTION, Choice, Question
from shoal.labels.rounds import HandedOut, TakenIn, build_task, hand_out, is_task, learn_from, take_in
from shoal.labels.sentences import CURVES, NEXT_RELEASE, PAIRS
from shoal.labels.shown import MULTIPLE, copies
from shoal.labels.task import LabelTask
from shoal.labels.task_folder import refuse_folder

__all__ = [
    "CURVES",
    "DEFAULT_QUESTION",
    "MULTIPLE",
    "NEXT_RELEASE",
    "PAIRS",
    "Answer",
    "Choice",
    "CurvePoint",
    "HandedOut",
    "Label",
    "LabelAgreement",
    "LabelTask",
    "Labels",
    "MetricLoss",
    "Question",
    "Share",
    "StopAdvice",
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
