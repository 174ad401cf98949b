"""Recorded sessions: a device's answers, which a device without a driver gives again.

`record:FILE` is the device of `auto`, `record:FILE:SPEC` that of `SPEC`, whose answers are written
to the file. `replay:FILE` answers from the file. A launch is identified by its kernel, its problem
and the contents of its operands, whatever ran before it.
"""
