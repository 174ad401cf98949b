"""Long sums of few rows and columns: searched with shared sums, then held beside cuBLAS.

    python tests/benchmarks/long_sums.py -o /tmp/long-sums

Searches sgemm NN on twelve sizes, ten of DeepBench's and two of docs/benchmarks.md, for 45 seconds
in each of two spaces, distils both runs into one selector, benches it, and prints how many
work-groups share a sum in the best kernel of each size. Takes about 140 seconds on a GPU; needs no
network. Writes into the folder: the runs, selector.json and bench.txt.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from mltune.kernel.name import global_split_of

SIZES = (
    "35x700x2560,35x1500x2560,35x700x2048,1760x16x1760,2048x16x2048,2048x32x2048,2560x32x2560,"
    "2560x64x2560,1760x64x1760,512x16x512,46x90x14000,127x356x5733"
)


def main() -> int:
    """Search, distil, bench, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--spaces", default="tiled-nvidia,mma-nvidia")
    parser.add_argument("--seconds", type=int, default=45)
    parser.add_argument("--against", default="cublas")
    options = parser.parse_args()
    out: Path = options.output
    out.mkdir(parents=True, exist_ok=True)

    runs = []
    for space in options.spaces.split(","):
        run = out / f"run-{space}"
        answer = _mltune(
            "search", "--device", options.device, "--problem", "sgemm_nn", "--budget", "3000",
            "--time-limit", str(options.seconds), "--sizes", options.sizes, "--seed", "1",
            "--space", f"spaces/{space}.yaml", "--run", str(run),
        )  # fmt: skip
        print(f"{space}: {answer['trials']} trials in {answer['seconds']:.0f} s", flush=True)
        for best in answer["best"]:
            split = global_split_of(best["kernel"])
            print(f"  {best['gflops']:10,.1f} GFLOP/s, {split:2d} a sum: {best['kernel']}")
        runs.append(str(run))
    selector = out / "selector.json"
    _mltune("distil", *runs, "--max-kernels", "12", "--tolerance", "0", "-o", str(selector))
    bench = _run(
        "bench", str(selector), "--device", options.device, "--against", options.against,
        "--sizes", options.sizes, "--rounds", "7",
    )  # fmt: skip
    (out / "bench.txt").write_text(bench)
    print(bench)
    return 0


def _mltune(*arguments: str) -> dict[str, Any]:
    """Run a verb, and return the document that it prints."""
    answer: dict[str, Any] = json.loads(_run(*arguments, "--json"))
    return answer


def _run(*arguments: str) -> str:
    command = [sys.executable, "-m", "mltune", *arguments, "-q"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
