"""Builds mltune's own programs, without the notes that some drivers add to every build."""

from __future__ import annotations

import warnings

import pyopencl as cl


def built(context: cl.Context, source: str) -> cl.Program:
    """Build a program for all devices of a context.

    Raises:
        pyopencl.Error: when the compiler refuses it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        program: cl.Program = cl.Program(context, source).build()
    return program
