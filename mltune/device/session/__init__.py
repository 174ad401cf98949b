"""Recorded sessions: what a device answered, for a device without a driver to answer again.

`record:FILE` is the device that `auto` means, `record:FILE:SPEC` the one that `SPEC` means, and
what it answers is written to the file. `replay:FILE` answers from the file. A launch is known
again by its kernel, its problem and the contents of its operands, whatever was done before it.
"""
