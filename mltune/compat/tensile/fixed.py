"""Tensile's parameters that do not vary in mltune: those with one value, and those without."""

from __future__ import annotations

from mltune.errors import UsageError
from mltune.space.yaml_document import Item

_COALESCED = "neighbouring work-items always read neighbouring elements"
FIXED: dict[str, tuple[str, str]] = {
    "KernelLanguage": ("Source", "kernels are written in OpenCL C"),
    "LoopTail": ("True", "every number of terms is computed"),
    "LoopDoWhile": ("False", "a sum may have fewer terms than DepthU"),
    "NumLoadsCoalescedA": ("1", _COALESCED),
    "NumLoadsCoalescedB": ("1", _COALESCED),
    "GlobalReadCoalesceGroupA": ("True", _COALESCED),
    "GlobalReadCoalesceGroupB": ("True", _COALESCED),
    "GlobalReadCoalesceVectorA": ("True", "a vector is always read whole"),
    "GlobalReadCoalesceVectorB": ("True", "a vector is always read whole"),
    "AssertFree0ElementMultiple": ("1", "every kernel takes every size"),
    "AssertFree1ElementMultiple": ("1", "every kernel takes every size"),
    "AssertSummationElementMultiple": ("1", "every kernel takes every size"),
    "InnerUnroll": ("1", "LoopUnroll says how many terms a step has"),
}
"""Tensile's parameters that have one value in mltune, with the reason."""

ABSENT = frozenset(
    {
        "AggressivePerfMode", "AssertAlphaValue", "AssertBetaValue", "AssertCEqualsD",
        "AssertMinApproxSize", "AssertSizeEqual", "AssertSizeGreaterThan", "AssertSizeLessThan",
        "AssertSizeMultiple", "AssertStrideAEqual", "AssertStrideBEqual", "AssertStrideCEqual",
        "AssertStrideDEqual", "AtomicAddC", "BufferLoad", "BufferStore", "CheckDimOverflow",
        "CheckTensorDimAsserts", "CustomKernelName", "DepthULdsDivisor", "DisableAtomicFail",
        "DisableKernelPieces", "DisableVgprOverlapping", "ExpandPointerSwap", "Fp16AltImpl",
        "FractionalLoad", "GlobalRead2A", "GlobalRead2B", "GlobalReadPerMfma", "GroupLoadStore",
        "ISA", "InterleaveAlpha", "LdcEqualsLdd", "LdsBlockSizePerPad", "LocalDotLayout",
        "LocalRead2A", "LocalRead2B", "LocalReadVectorWidth", "LocalWrite2A", "LocalWrite2B",
        "LocalWritePerMfma", "MIArchVgpr", "MacroTileShapeMax", "MacroTileShapeMin", "MagicDivAlg",
        "MatrixInstruction", "MaxOccupancy", "MaxVgprNumber", "MinVgprNumber", "NoReject",
        "NonTemporalD", "NumElementsPerBatchStore", "OptNoLoadLoop", "OptPreLoopVmcnt",
        "PackBatchDims", "PackFreeDims", "PackGranularity", "PackSummationDims",
        "PerformanceSyncLocation", "PerformanceWaitCount", "PerformanceWaitLocation",
        "PersistentKernelAlongBatch", "PrefetchAcrossPersistent", "PrefetchAcrossPersistentMode",
        "ReplacementKernel", "ScheduleGlobalRead", "ScheduleIterAlg", "ScheduleLocalWrite",
        "SourceSwap", "StoreCInUnroll", "StoreCInUnrollExact", "StoreCInUnrollInterval",
        "StoreCInUnrollPostLoop", "StorePriorityOpt", "StoreRemapVectorWidth", "StoreSyncOpt",
        "StoreVectorWidth", "SuppressNoLoadLoop", "ThreadSeparateGlobalReadA",
        "ThreadSeparateGlobalReadB", "TransposeLDS", "UnrollIncIsDepthU", "UnrollMemFence",
        "Use64bShadowLimit", "UseInstOffsetForGRO", "UseSgprForGRO", "VectorAtomicWidth",
        "VectorStore", "WaveSeparateGlobalReadA", "WaveSeparateGlobalReadB", "WavefrontSize",
        "WorkGroupMappingType",
    }
)  # fmt: skip
"""Tensile's other parameters, most of which are for AMD's assembly."""


def check_fixed(name: str, item: Item) -> None:
    """Check the one value that a parameter has in mltune.

    Raises:
        UsageError: when it is another, with the reason.
    """
    wanted, reason = FIXED[name]
    value = str(item.scalar(name))
    same = {"True": ("True", "true", "1"), "False": ("False", "false", "0")}
    if value not in same.get(wanted, (wanted,)):
        raise UsageError(
            f"{item.where}: {name}: {value} is not supported: {reason} (supported: {wanted})"
        )
