"""Figures: data in, a matplotlib figure out; they read no files and decide nothing."""

from kodex.reports.figures.dynamics import (
    eigenvalue_histogram,
    eigenvalue_plane,
    horizon_plot,
    reference_plot,
)
from kodex.reports.figures.outcomes import novelty_plot, progress_plot, start_plot, success_plot
from kodex.reports.figures.studies import Curve, Method, curve_plot, sweep_plot, tradeoff_plot
from kodex.reports.figures.style import png

__all__ = [
    "Curve",
    "Method",
    "curve_plot",
    "eigenvalue_histogram",
    "eigenvalue_plane",
    "horizon_plot",
    "novelty_plot",
    "png",
    "progress_plot",
    "reference_plot",
    "start_plot",
    "success_plot",
    "sweep_plot",
    "tradeoff_plot",
]
