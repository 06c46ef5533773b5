"""Closed services: questions, the cells or the noise they are answered from, tokens and the log. No web."""

from shoal.closed.folder import find_closed_folder, make_closed_folder, refuse_taken
from shoal.closed.questions import QUESTION, Answer, Count, Mean, Quantile, Question, Range, Window
from shoal.closed.register import Register, Token
from shoal.closed.service import Closed

__all__ = [
    "QUESTION",
    "Answer",
    "Closed",
    "Count",
    "Mean",
    "Quantile",
    "Question",
    "Range",
    "Register",
    "Token",
    "Window",
    "find_closed_folder",
    "make_closed_folder",
    "refuse_taken",
]
