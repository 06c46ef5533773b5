"""Measures of what a release is still good for. Each says which way is better and its range."""

from shoal.utility.information_loss import InformationLoss

__all__ = ["InformationLoss"]
