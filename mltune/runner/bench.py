"""One measurement from build to times, in the process that owns the device.

A kernel is built once and probed once on a small irregular problem; a kernel that fails there is
wrong for every problem. Then, for each problem, its first result is compared in full and only a
right one is timed; some of the timed launches are checked as well. Built kernels and the numbers
of problems are kept for later requests.
"""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mltune.device import (
    BuildError,
    Device,
    DeviceLostError,
    Execution,
    LaunchError,
    LimitError,
    Program,
)
from mltune.errors import MltuneError, UsageError
from mltune.kernel import Kernel
from mltune.measurement import Status
from mltune.problem import Problem
from mltune.runner.arena import Arena
from mltune.runner.cache import Cache
from mltune.runner.known_good import known_good_kernel
from mltune.runner.messages import Outcome, Request, Stage
from mltune.runner.observe import Observer, make_observer
from mltune.runner.peak import least_seconds
from mltune.runner.preparation import Prepare, prepare, prepared_bytes
from mltune.runner.probe import other_scalars, probe_problem
from mltune.runner.scratch import Scratch
from mltune.runner.sequences import SequenceClock, event_seconds
from mltune.runner.timed import seconds_of
from mltune.runner.timing import ClockError, TooSlowError, sample
from mltune.runner.validation import Verdict
from mltune.runner.workspace import Workspace

_KEPT_PROGRAMS = 128
_KEPT_VERDICTS = 4096
_REFERENCE_LAUNCHES = 3
# The share of a kernel's measurements on a GPU, after the first one, that are checked; which ones
# is random. Checks take the host 0.7 ms there, and a measurement of the search 5 ms. The leaders'
# later rounds are all checked.
_WATCHED_SHARE = 0.5
# A check changes the caches: overwritten elements come from other cores or from memory.
_SHORT_SECONDS = {"cpu": 2e-4}
_SHORT_GPU_SECONDS = 2e-5
_COOLING_SECONDS = 0.1  # after which a GPU may have a lower clock
_COLD_BYTES = 1 << 28  # more than any cache of 2026
# A real compile takes at least 0.06 s (NVIDIA) to 0.5 s (PoCL) of processor time, a kernel from
# the driver's disk cache 0.003 to 0.03 s. Wall time would depend on other work.
CACHED_CPU_SECONDS = 0.045


class DeviceSickError(MltuneError):
    """The device computes a wrong result with the known-good kernel."""


@dataclass(slots=True)
class _Built:
    """A built kernel, with the result of its probe.

    Attributes:
        is_trusted: whether memory around its result was inspected, too, on a requested problem.
    """

    program: Program
    verdict: Verdict
    is_trusted: bool = False


class _FaultError(Exception):
    """A kernel did something wrong on a problem.

    Attributes:
        is_its_own: whether the fault cannot come from an earlier kernel, which may have written to
            A or B, or far outside of C where nothing was inspected.
    """

    def __init__(self, verdict: Verdict, where: str = "", *, is_its_own: bool = False) -> None:
        super().__init__(verdict.fault)
        self.outcome = _wrong(verdict, where)
        self.is_its_own = is_its_own


class Bench:
    """Measures kernels on one device."""

    def __init__(
        self,
        device: Device,
        enter: Callable[[Stage], None],
        memory_bytes: int,
        observer: Observer | None = None,
        prepare: Prepare = prepare,
    ) -> None:
        """Make a bench.

        Args:
            device: runs the kernels.
            enter: called whenever the work enters another stage.
            memory_bytes: for the numbers of problems, on host and device together.
            observer: reads other values than times after samples were taken (default: none).
            prepare: makes the numbers and the references of problems.

        Raises:
            MltuneError: when the device cannot build the known-good kernel or allocate its memory.
        """
        self._device = device
        self._enter = enter
        self._make_numbers = prepare
        self._built: Cache[tuple[str, str], _Built] = Cache(_KEPT_PROGRAMS)
        self._workspaces: Cache[tuple[Problem, int], Workspace] = Cache(memory_bytes)
        self._verdicts: Cache[tuple[str, Problem, int], Verdict] = Cache(_KEPT_VERDICTS)
        kernel, problem = known_good_kernel(device.info)
        self._scratch, self._counters = Scratch(device), Scratch(device, byte=0)
        self._arena = Arena(device)
        self._arena.place(self, 1)  # made now, as it would look like a compilation later
        self._reference = (Workspace.make(device, problem.canonical(), 0), device.build(kernel))
        self._evicting: Any = None
        self._event_seconds: float | None = None  # what an event adds to a sequence
        self._timed_until = -math.inf
        self._random = random.SystemRandom()
        self._observer = observer or make_observer((), device.info)

    def prove(self) -> None:
        """Compute the known-good kernel's problem and check it.

        Raises:
            DeviceSickError: when the result is wrong.
            MltuneError: when the device fails on the way.
        """
        workspace, program = self._reference
        workspace.restore()
        workspace.launch(program).wait()
        if fault := workspace.check().fault:
            raise DeviceSickError(f"computes a known-good kernel wrong: {fault}")

    def expect(self, problem: Problem, seed: int) -> None:
        """Prepare a problem before it is needed."""
        problem = problem.canonical()
        if self._workspaces.get((problem, seed)) is None:
            with contextlib.suppress(LimitError, LaunchError, MemoryError):
                # The request will report it.
                self._prepare(problem, seed)

    def measure(self, request: Request) -> Outcome:
        """Build, check and time one kernel on one problem; a failure is an outcome, too."""
        self._enter(Stage.BUILDING)  # errors from here on are of this request
        compiled = _Compilation()
        try:
            outcome = self._measure(request, compiled)
        except BuildError as error:
            outcome = Outcome(status=Status.BUILD_ERROR, message=str(error))
        except LimitError as error:
            outcome = Outcome(status=Status.LAUNCH_ERROR, message=str(error))
        except (LaunchError, ClockError) as error:
            outcome = Outcome(status=Status.LAUNCH_ERROR, message=str(error), retire=True)
        except MemoryError as error:
            text = ": ".join(filter(None, ("the host has no memory left", str(error))))
            outcome = Outcome(status=Status.LAUNCH_ERROR, message=text, retire=True)
        except DeviceLostError as error:
            outcome = Outcome(status=Status.CRASHED, message=str(error), retire=True)
        except TooSlowError as error:
            outcome = Outcome(status=Status.TIMEOUT, message=str(error))
        except UsageError as error:
            outcome = Outcome(status=Status.INVALID, message=str(error))
        return replace(
            outcome, compile_seconds=compiled.seconds or None, compile_cached=compiled.is_cached
        )

    def _measure(self, request: Request, compiled: _Compilation) -> Outcome:
        built = self._build(request.kernel, request.seed, compiled)
        if built.verdict.fault:
            return _wrong(built.verdict, "on the probe")
        problem = request.problem.canonical()
        key = (problem, request.seed)
        for _ in range(2):
            kept = self._workspaces.get(key)
            workspace = kept or self._prepare(*key)
            try:
                return self._try(request, workspace, built, compiled, is_fresh=kept is None)
            except _FaultError as fault:
                self._workspaces.drop(key)  # the next try has fresh numbers
                outcome = fault.outcome
                if fault.is_its_own:
                    break
        return outcome

    def _try(
        self,
        request: Request,
        workspace: Workspace,
        built: _Built,
        compiled: _Compilation,
        *,
        is_fresh: bool,
    ) -> Outcome:
        """Check, time, and check what the timed launches left.

        Raises:
            _FaultError: when anything is wrong.
        """
        known = (request.kernel.source_hash, workspace.problem, request.seed)
        verdict = None if request.check else self._verdicts.get(known)
        spent = 0.0
        if verdict is None:
            verdict, execution = self._run_checked(workspace, built.program, compiled)
            if verdict.fault:
                raise _FaultError(verdict, is_its_own=is_fresh)
            self._verdicts.put(known, verdict)
            spent = seconds_of(execution)
        else:
            workspace.restore()
        watches = (
            self._device.info.kind == "cpu"
            or request.check
            or not built.is_trusted
            or self._random.random() < _WATCHED_SHARE
        )
        outcome = self._time(request, workspace, built.program, verdict, spent, watches=watches)
        self._enter(Stage.CHECKING)
        if fault := workspace.spot_fault():
            self._verdicts.drop(known)
            raise _FaultError(replace(verdict, fault=fault), is_its_own=workspace.inputs_untouched)
        if not built.is_trusted:
            self._look_beyond(request, workspace, built, verdict, compiled)
            built.is_trusted = True
        return outcome

    def _look_beyond(
        self,
        request: Request,
        workspace: Workspace,
        built: _Built,
        verdict: Verdict,
        compiled: _Compilation,
    ) -> None:
        """Make the checks that take too long for every problem, once for each kernel.

        Raises:
            _FaultError: when anything is wrong.
        """
        if fault := workspace.fault_around():
            # The write may be of this launch, of the probe, or of an earlier kernel without
            # inspection.
            probe = self._workspace(probe_problem(request.kernel), request.seed)
            self._run_checked(probe, built.program, compiled)
            is_its_own = request.kernel.limits.takes_every_problem and bool(probe.fault_around())
            raise _FaultError(replace(verdict, fault=fault), is_its_own=is_its_own)
        if request.kernel.limits.takes_every_problem:
            return  # the probe has checked the rest
        other = other_scalars(request.kernel, workspace.problem)
        if other == workspace.problem:
            return
        key = (other, request.seed)
        verdict, _ = self._run_checked(
            self._workspaces.get(key) or self._prepare(*key), built.program, compiled
        )
        if verdict.fault:
            self._workspaces.drop(key)
            raise _FaultError(verdict, f"with alpha = {other.alpha:g} and beta = {other.beta:g}")

    def _time(
        self,
        request: Request,
        workspace: Workspace,
        program: Program,
        verdict: Verdict,
        spent_seconds: float,
        *,
        watches: bool,
    ) -> Outcome:
        self._enter(Stage.RUNNING)
        before = self._reference_seconds()
        seconds = sample(
            lambda: workspace.launch(program),
            request.plan,
            checked_seconds=0.0 if self._is_cool else spent_seconds,
            seconds_left=request.run_seconds - spent_seconds,
            least_seconds=least_seconds(request.problem, self._device.info),
            tick_seconds=self._device.tick_seconds,
            evict=self._evict,
            launch_checked=(lambda: workspace.launch_checked(program)) if watches else None,
            short_seconds=_SHORT_SECONDS.get(self._device.info.kind, _SHORT_GPU_SECONDS),
            sequences=self._sequence_clock(workspace, program),
        )
        self._timed_until = time.monotonic()
        observed = self._observer.look(lambda: workspace.launch(program))
        return Outcome(
            status=Status.OK,
            seconds=seconds,
            max_error=verdict.max_error,
            error_bound=verdict.error_bound,
            reference_seconds=max(before, self._reference_seconds()),
            observed=tuple(sorted(observed.items())),
        )

    def _sequence_clock(self, workspace: Workspace, program: Program) -> SequenceClock | None:
        """Return the clock of short kernels, if the device prefers that they run in sequences."""
        if not self._device.prefers_sequences:
            return None
        clock = SequenceClock(
            follow=lambda count: workspace.launch(program, count),
            hold=self._device.hold,
            is_cool=self._is_cool,
        )
        if self._event_seconds is None:
            reference, known_good = self._reference
            self._event_seconds = event_seconds(
                replace(clock, follow=lambda count: reference.launch(known_good, count)),
                lambda: reference.launch(known_good),
            )
        return replace(clock, event_seconds=self._event_seconds)

    @property
    def _is_cool(self) -> bool:
        """Whether a GPU had nothing to do for a while, so that its clock may rise."""
        idle_seconds = time.monotonic() - self._timed_until
        return self._device.info.kind != "cpu" and idle_seconds > _COOLING_SECONDS

    def _reference_seconds(self) -> float:
        workspace, program = self._reference
        launches = [workspace.launch(program) for _ in range(_REFERENCE_LAUNCHES)]
        launches[-1].wait()
        return statistics.median(map(seconds_of, launches))

    def _evict(self) -> None:
        if self._evicting is None:
            nbytes = max(_COLD_BYTES, 2 * self._device.info.global_cache_bytes)
            self._evicting = self._device.allocate(min(nbytes, self._device.info.max_alloc_bytes))
        self._device.fill(self._evicting)

    def _build(self, kernel: Kernel, seed: int, compiled: _Compilation) -> _Built:
        key = (kernel.name, kernel.source_hash)
        if (kept := self._built.get(key)) is not None:
            compiled.is_cached = True
            return kept
        self._arena.watch()
        workspace = self._workspace(probe_problem(kernel), seed)
        cpu_before = time.process_time()
        program = self._device.build(kernel)
        compiled.seconds += program.build_seconds
        verdict, _ = self._run_checked(workspace, program, compiled, cpu_before)
        if not kernel.limits.takes_every_problem:
            # A kernel with limits may fail on the probe, so every problem has its own verdict.
            verdict = replace(verdict, fault="")
        elif not verdict.fault and not workspace.inputs_untouched:
            verdict = replace(verdict, fault="A or B, or memory around them, was written")
        built = _Built(program, verdict)
        self._built.put(key, built)
        return built

    def _workspace(self, problem: Problem, seed: int, *, is_timed: bool = False) -> Workspace:
        return Workspace.make(
            self._device,
            problem,
            seed,
            self._arena,
            self._scratch,
            self._counters,
            self._make_numbers,
            is_timed=is_timed,
        )

    def _prepare(self, problem: Problem, seed: int) -> Workspace:
        self._enter(Stage.PREPARING)
        cost = prepared_bytes(self._device.info, problem)
        self._workspaces.make_room(cost)
        workspace = self._workspace(problem, seed, is_timed=True)
        self._workspaces.put((problem, seed), workspace, cost)
        return workspace

    def _run_checked(
        self,
        workspace: Workspace,
        program: Program,
        compiled: _Compilation,
        cpu_before: float | None = None,
    ) -> tuple[Verdict, Execution]:
        """Launch once, and check. The time before the start on the device counts as compiling."""
        self._enter(Stage.LAUNCHING)
        workspace.restore()
        execution = workspace.launch(program)
        cpu_seconds = 0.0
        for each in execution.passes:
            self._enter(Stage.LAUNCHING)
            if self._device.compiles_at_launch:
                each.wait_until_running()
            if cpu_before is not None:
                cpu_seconds += time.process_time() - cpu_before
            self._enter(Stage.RUNNING)
            each.wait()
            cpu_before = None if cpu_before is None else time.process_time()
        if cpu_before is not None:
            compiled.is_cached = cpu_seconds < CACHED_CPU_SECONDS
        self._enter(Stage.CHECKING)
        compiled.seconds += execution.delay_seconds
        return workspace.check(), execution


@dataclass(slots=True)
class _Compilation:
    """The compile time of one request, summed up."""

    seconds: float = 0.0
    is_cached: bool = False


def _wrong(verdict: Verdict, where: str) -> Outcome:
    return Outcome(
        status=Status.WRONG_RESULT,
        max_error=verdict.max_error,
        error_bound=verdict.error_bound,
        message=f"{verdict.fault} {where}".strip(),
    )
