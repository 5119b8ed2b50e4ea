"""Policies that run elsewhere: as C, as ONNX, and in a browser."""

from kodex.export.acting import program_of
from kodex.export.c import c_source
from kodex.export.program import Program
from kodex.export.samples import Samples, samples_of

__all__ = ["Program", "Samples", "c_source", "program_of", "samples_of"]
