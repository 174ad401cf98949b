"""The kernels of a selector on one device: which ones run there, and which one serves a size."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyopencl as cl

from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError
from mltune.kernel.families import FAMILIES
from mltune.kernel.kernel import Kernel
from mltune.kernel.needs import lacks
from mltune.problem import problem_type_name
from mltune.runtime.first_use import Finding, Proof, check, keep_finding, kept_finding
from mltune.runtime.gemm_kernel import GemmKernel, GemmType
from mltune.runtime.launch import Launcher
from mltune.selector import Selector
from mltune.selector.json import read_selector
from mltune.selector.pack import SELECTOR_NAME, packs
from mltune.selector.restricted import without
from mltune.selector.speeds import Speed

SLOW_FACTOR = 2.0
"""A size that takes this many times as long as its pack states is reported."""

Arrays = tuple[tuple[int, ...] | None, ...]
"""Shapes and strides."""

_CHOICES = 65536
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Learned:
    """A kernel for arrays of some shapes, and how many further calls use it without asking."""

    size: tuple[int, int, int, int]
    number: int = 0
    again: float = 0


class Here:
    """The kernels that are used on one device; any number of threads may share it."""

    def __init__(
        self, name: str, selector: Selector, gemm_type: GemmType, kernels: Sequence[GemmKernel]
    ) -> None:
        self._name, self._selector = name, selector
        self._lock = threading.Lock()
        self._device = ""
        self.lacking: dict[int, str] = {}
        """The numbers of kernels that are not used on this device, each with the reason."""
        self.finding: Finding | None = None
        self.learned: dict[Arrays, Learned] = {}
        self._proof: Proof | None = None
        self._with_scratch = {i for i, kernel in enumerate(kernels) if kernel.has_scratch}
        self._chooser = lru_cache(maxsize=2)(self._choose_without)
        self._restrict()
        self.launcher = Launcher(
            gemm_type, kernels, lambda *size: self._choose(*size), self._prove
        )

    def settle(
        self,
        kernels: Sequence[Kernel],
        device: DeviceInfo,
        speeds: Sequence[Speed],
        queue: cl.CommandQueue,
        *,
        anew: bool = False,
    ) -> None:
        """Find the kernels that run on a device; check a pack, unless that was done before.

        At first only the kernels of the sizes whose speeds a pack states are checked.

        Args:
            kernels: of the selector.
            device: of the queue.
            speeds: that a pack states; none for a selector that is no pack.
            queue: to check with.
            anew: whether to check all kernels now, also if that was done before.

        Raises:
            NoDeviceError: when no kernel runs there.
        """
        self._device = device.name
        self.lacking = lacking(kernels, device)
        _refuse_if_none_is_left(self._name, self._selector, self.lacking, device)
        if speeds and not self._selector.contraction.epilogue:
            hashes = [kernel.source_hash for kernel in kernels]
            kept = None if anew else kept_finding(self._selector, speeds, hashes, device)
            able = set(range(len(kernels))) - self.lacking.keys()
            stated = {self._selector.choose(*each.size).index for each in speeds}
            numbers = sorted(able if anew else able & stated)
            found = kept or check(self.launcher, self._selector, speeds, queue, numbers)

            def keep(found: Finding) -> None:
                keep_finding(found, self._selector, speeds, hashes, device)

            if kept is None:
                keep(found)
            self._proof = Proof(self.launcher, self._selector, found, keep)
            for number, reason in found.wrong:
                self.lacking.setdefault(number, reason)
            self.finding = found
            _refuse_if_none_is_left(self._name, self._selector, self.lacking, device)
        self._restrict()
        if line := self._line(device, speeds):
            _log.warning("%s", line)

    def _prove(self, queue: cl.CommandQueue, number: int) -> None:
        if self._proof is not None:
            self._proof.prove(queue, number)

    def drop(self, number: int, reason: str) -> bool:
        """Stop using a kernel that cannot run; False if it is the last one."""
        with self._lock:
            if number not in self.lacking:
                if len(self.lacking) + 1 == len(self._selector.portfolio):
                    return False
                self.lacking[number] = reason
                self._restrict()
                _log.warning(
                    "%s on %s: %s; another kernel takes its place",
                    self._name,
                    self._device,
                    reason,
                )
            self.learned.clear()  # another thread may have added it since
            self.launcher.forget_plans()
        return True

    def without_scratch(self, m: int, n: int, k: int, batch: int) -> int | None:
        """Return the kernel for a size of those without scratch memory; None if there are none."""
        unfit = frozenset({*self.lacking, *self._with_scratch})
        if len(unfit) == len(self._selector.portfolio):
            return None
        return self._chooser(unfit)(m, n, k, batch)

    def _restrict(self) -> None:
        """Let the usable kernels serve every size."""
        self._choose = self._chooser(frozenset(self.lacking))

    def _choose_without(self, unfit: frozenset[int]) -> Callable[[int, int, int, int], int]:
        """Return what chooses among the other kernels; to make it takes 10 ms."""
        selector, numbers = without(self._selector, unfit)

        def choose(m: int, n: int, k: int, batch: int) -> int:
            return numbers[selector.choose(m, n, k, batch).index]

        return lru_cache(maxsize=_CHOICES)(choose)

    def _line(self, device: DeviceInfo, speeds: Sequence[Speed]) -> str:
        """Return one line for the user; empty if everything is as the pack states."""
        home = self._selector.device or device.name
        said = []
        if self.lacking:
            count = f"{len(self.lacking)} of {len(self._selector.portfolio)} kernels"
            verb = "is" if len(self.lacking) == 1 else "are"
            said.append(f"{count} {verb} not used there: {_words(self.lacking.values())}")
        is_home = self._selector.is_for(device.name)
        if self.finding is not None:
            pairs = zip(speeds, self.finding.seconds, strict=True)
            there = "as it states" if is_home else f"as on {home}"
            said += [
                f"{each.label} takes {_time(taken)}, not {_time(each.seconds)} {there}"
                for each, taken in pairs
                if taken and (not is_home or taken > SLOW_FACTOR * each.seconds)
            ]
        if not said:
            return ""
        origin = "" if is_home else f", tuned for {home}"
        tune = f"tune yours: mltune tune --problems {_problem(self._selector)} -o mine"
        return f"{self._name}{origin}, on {device.name}: {'; '.join(said)} ({tune})"


def lacking(kernels: Sequence[Kernel], device: DeviceInfo) -> dict[int, str]:
    """Return the numbers of the kernels that cannot run on a device, each with the reason."""
    found = {number: lacks(kernel, device) for number, kernel in enumerate(kernels)}
    return {number: words for number, words in found.items() if words}


def refuse_elsewhere(
    name: str, selector: Selector, kernels: Sequence[Kernel], devices: Sequence[DeviceInfo]
) -> None:
    """Refuse a pack if no kernel of it runs on any device of this machine.

    Raises:
        NoDeviceError: with what to do.
    """
    found = [(lacking(kernels, device), device) for device in devices]
    if found and all(len(each) == len(kernels) for each, _ in found):
        _refuse_if_none_is_left(name, selector, *found[0])


def _refuse_if_none_is_left(
    name: str, selector: Selector, lacks_here: Mapping[int, str], device: DeviceInfo
) -> None:
    if len(lacks_here) < len(selector.portfolio):
        return
    problem = _problem(selector)
    tuned = "" if selector.is_for(device.name) else f", tuned for {selector.device},"
    fitting = [
        f"{pack.parent.name}/{problem}"
        for pack in packs()
        if pack.name == problem and _runs(read_selector(pack / SELECTOR_NAME), device)
    ]
    count = len(lacks_here)
    fail = f"none of its {count} kernels runs" if count > 1 else "its only kernel does not run"
    use = f"use {fitting[0]}, or " if fitting else ""
    raise NoDeviceError(
        f"{name}{tuned} cannot be used on {device.name}: {fail} there "
        f"({_words(lacks_here.values())}); "
        f"{use}tune yours: mltune tune --problems {problem} -o tuned"
    )


def _runs(selector: Selector, device: DeviceInfo) -> bool:
    """Whether all kernels of a shipped pack run on a device."""
    entries = ((FAMILIES[each.family], each.config) for each in selector.portfolio)
    kernels = [family.generate(selector.contraction, config) for family, config in entries]
    return not lacking(kernels, device)


def _words(reasons: Iterable[str]) -> str:
    """Join the reasons, each once."""
    return ", ".join(dict.fromkeys(reasons))


def _problem(selector: Selector) -> str:
    return problem_type_name(selector.contraction)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
