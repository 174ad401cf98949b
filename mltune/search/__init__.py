"""Proposes the next config: Optuna samplers over the feasible configs of a space."""

from mltune.callable_package import make_callable

make_callable(__name__)
