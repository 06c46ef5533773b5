"""The side-channel lint: what a release would reveal beyond what it is meant to. One file per rule."""

from shoal.release.lint.all_rules import RULES, check_accepted, lint, settle
from shoal.release.lint.written import Crowd, Finding, Written

__all__ = ["RULES", "Crowd", "Finding", "Written", "check_accepted", "lint", "settle"]
