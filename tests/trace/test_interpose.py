"""The library that counts calls, tested with small C programs and stand-ins for BLAS libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.problem import problem_type_name
from mltune.problem.calls import Calls
from mltune.trace import Seen, build_library, read_tables

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD")

# Each function prints that it was called, so a test sees that the real one is.
LIBRARY = r"""
#include <stddef.h>
#include <stdint.h>
typedef struct { float x, y; } Float2;
typedef struct { double x, y; } Double2;
int real_calls, finished;
void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc) { ++real_calls; c[0] = *alpha; }
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc) {
    sgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}
void cblas_zgemm(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                 int lda, const void *b, int ldb, const void *beta, void *c, int ldc) {
    ++real_calls;
}
int CLBlastHgemm(int order, int ta, int tb, size_t m, size_t n, size_t k, uint16_t alpha, void *a,
                 size_t ao, size_t lda, void *b, size_t bo, size_t ldb, uint16_t beta, void *c,
                 size_t co, size_t ldc, void **queue, void **event) {
    ++real_calls;
    return alpha == 0x3c00 && beta == 7 ? 0 : -1;
}
int CLBlastZgemmStridedBatched(int order, int ta, int tb, size_t m, size_t n, size_t k,
                               Double2 alpha, void *a, size_t ao, size_t lda, size_t sa, void *b,
                               size_t bo, size_t ldb, size_t sb, Double2 beta, void *c, size_t co,
                               size_t ldc, size_t sc, size_t batch, void **queue, void **event) {
    ++real_calls;
    return alpha.y == 2 && beta.x == 3 && event == (void *)5 ? 0 : -1;
}
int clblasSgemm(int order, int ta, int tb, size_t m, size_t n, size_t k, float alpha, void *a,
                size_t ao, size_t lda, void *b, size_t bo, size_t ldb, float beta, void *c,
                size_t co, size_t ldc, unsigned queues, void **queue, unsigned events,
                const void *list, void **event) {
    ++real_calls;
    return beta == 2 && event == (void *)9 ? 0 : -1;
}
int clFinish(void *queue) { return ++finished, queue == (void *)3 ? 0 : -1; }
"""

HEAD = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
typedef struct { double x, y; } Double2;
extern int real_calls, finished;
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
            const float *, const int *, const float *, const int *, const float *, float *,
            const int *);
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                 float, float *, int);
void cblas_zgemm(int, int, int, int, int, int, const void *, const void *, int, const void *, int,
                 const void *, void *, int);
int CLBlastHgemm(int, int, int, size_t, size_t, size_t, uint16_t, void *, size_t, size_t, void *,
                 size_t, size_t, uint16_t, void *, size_t, size_t, void **, void **);
int CLBlastZgemmStridedBatched(int, int, int, size_t, size_t, size_t, Double2, void *, size_t,
                               size_t, size_t, void *, size_t, size_t, size_t, Double2, void *,
                               size_t, size_t, size_t, size_t, void **, void **);
int clblasSgemm(int, int, int, size_t, size_t, size_t, float, void *, size_t, size_t, void *,
                size_t, size_t, float, void *, size_t, size_t, unsigned, void **, unsigned,
                const void *, void **);
static float a[64], b[64], c[64];
static void call(int order, int ta, int tb, int m, int n, int k) {
    cblas_sgemm(order, ta, tb, m, n, k, 1, a, 8, b, 8, 0, c, 8);
}
"""

Traced = Callable[..., Seen]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in for all libraries."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    folder = tmp_path_factory.mktemp("library")
    (folder / "library.c").write_text(LIBRARY)
    path = folder / "libstandin.so"
    _compile("-shared", "-fPIC", "-o", path, folder / "library.c")
    return path


@pytest.fixture
def traced(library: Path, tmp_path: Path) -> Traced:
    """Build a program, run it with the counting library, and return the calls that it wrote."""

    def run(body: str, *, code: int = 0, wait: bool = False) -> Seen:
        (tmp_path / "program.c").write_text(HEAD + body)
        rest = (library, f"-Wl,-rpath,{library.parent}")
        _compile("-o", tmp_path / "program", tmp_path / "program.c", *rest, "-lpthread", "-ldl")
        environment = os.environ | {
            "LD_PRELOAD": str(build_library()),
            "MLTUNE_TRACE_FOLDER": str(tmp_path),
            "LIBRARY": str(library),
        }
        if wait:
            environment["MLTUNE_TRACE_WAIT"] = "1"
        done = subprocess.run(
            [tmp_path / "program"], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done
        return read_tables(tmp_path, waited=wait)

    return run


def _compile(*words: object) -> None:
    subprocess.run(["gcc", "-O1", *map(str, words)], check=True)


def _counts(seen: Seen) -> dict[tuple[str, str, str], int]:
    def key(each: Calls) -> tuple[str, str, str]:
        return problem_type_name(each.contraction), each.size.label, each.interface

    return {key(each): each.size.count for each in seen.calls}


def test_calls_of_all_interfaces_reach_the_real_functions_and_are_counted(traced: Traced) -> None:
    seen = traced(r"""
int main(void) {
    int m = 4, n = 5, k = 6, ld = 8;
    float one = 1;
    Double2 alpha = {1, 2}, beta = {3, 4};
    sgemm_("N", "t", &m, &n, &k, &one, a, &ld, b, &ld, &one, c, &ld);
    call(102, 112, 111, 4, 5, 6);
    call(101, 112, 111, 4, 5, 6); /* row-major: C^T = op(B)^T op(A)^T */
    cblas_zgemm(102, 113, 111, 4, 5, 6, a, a, 8, b, 8, b, c, 8);
    if (CLBlastHgemm(102, 111, 113, 4, 5, 6, 0x3c00, 0, 0, 8, 0, 0, 8, 7, 0, 0, 8, 0, 0)) return 1;
    if (CLBlastZgemmStridedBatched(102, 113, 111, 4, 5, 6, alpha, 0, 0, 8, 9, 0, 0, 8, 9, beta, 0,
                                   0, 8, 9, 3, 0, (void *)5)) return 2;
    if (clblasSgemm(0, 1, 0, 4, 5, 6, 1, 0, 0, 8, 0, 0, 8, 2, 0, 0, 8, 1, 0, 0, 0, (void *)9))
        return 3;
    return real_calls == 7 ? 0 : 4;
}""")

    assert _counts(seen) == {
        ("sgemm_nt", "4x5x6", "blas"): 1,
        ("sgemm_tn", "4x5x6", "cblas"): 1,
        ("sgemm_nt", "5x4x6", "cblas"): 1,
        ("zgemm_cn", "4x5x6", "cblas"): 1,
        ("hgemm_nt", "4x5x6", "clblast"): 1,
        ("zgemm_cn_batched", "4x5x6x3", "clblast"): 1,
        ("sgemm_nt", "5x4x6", "clblas"): 1,
    }
    assert (seen.processes, seen.lost, seen.skipped) == (1, 0, 0)
    assert all((each.seconds is None) == (each.interface[:2] == "cl") for each in seen.calls)


def test_a_library_that_calls_itself_by_another_interface_is_counted_once(traced: Traced) -> None:
    seen = traced("""
int main(void) {
    int four = 4, ld = 8;
    float one = 1;
    for (int i = 0; i < 1000; ++i) {
        call(102, 111, 111, 4, 4, 4);
        if (i % 2)
            sgemm_("N", "t", &four, &four, &four, &one, a, &ld, b, &ld, &one, c, &ld);
    }
    return real_calls != 1500;
}""")

    assert _counts(seen) == {
        ("sgemm_nn", "4x4x4", "cblas"): 1000,
        ("sgemm_nt", "4x4x4", "blas"): 500,
    }


def test_threads_lose_no_call(traced: Traced) -> None:
    seen = traced(r"""
static void *work(void *of) {
    for (int i = 0; i < 20000; ++i) call(102, 111, 111, 1 + i % 50, 2, 3);
    return of;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
}""")

    assert len(seen.calls) == 50
    assert {each.size.count for each in seen.calls} == {1600}
    assert seen.processes == 1
    assert all(each.seconds for each in seen.calls)


def test_children_count_for_themselves(traced: Traced) -> None:
    seen = traced(r"""
int main(void) {
    call(102, 111, 111, 4, 4, 4);
    for (int i = 0; i < 3; ++i)
        if (fork() == 0) { call(102, 111, 111, 4, 4, 4); _exit(0); }
    while (wait(0) > 0) {}
    call(102, 111, 111, 4, 4, 4);
}""")

    assert _counts(seen) == {("sgemm_nn", "4x4x4", "cblas"): 5}
    assert seen.processes == 4


@pytest.mark.parametrize(("ending", "code"), [("abort();", -6), ("raise(9);", -9)])
def test_a_program_that_dies_leaves_its_calls(traced: Traced, ending: str, code: int) -> None:
    body = "int raise(int); int main(void) { call(102, 111, 111, 4, 4, 4); %s }"

    assert _counts(traced(body % ending, code=code)) == {("sgemm_nn", "4x4x4", "cblas"): 1}


def test_a_function_that_is_asked_for_by_its_name_is_counted(traced: Traced) -> None:
    seen = traced(r"""
int main(void) {
    void *library = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    void (*gemm)(int, int, int, int, int, int, float, void *, int, void *, int, float, void *,
                 int) = dlsym(library, "cblas_sgemm");
    if (!gemm || dlsym(library, "cblas_dgemm") || dlsym(RTLD_DEFAULT, "nothing_emm")) return 1;
    gemm(102, 111, 111, 4, 4, 4, 1, a, 8, b, 8, 0, c, 8);
    return real_calls != 1;
}""")

    assert _counts(seen) == {("sgemm_nn", "4x4x4", "cblas"): 1}


def test_waiting_for_the_device_times_its_calls(traced: Traced) -> None:
    seen = traced(
        r"""
int main(void) {
    void *queue = (void *)3;
    for (int i = 0; i < 100; ++i)
        CLBlastHgemm(102, 111, 111, 4, 5, 6, 0x3c00, 0, 0, 8, 0, 0, 8, 7, 0, 0, 8, &queue, 0);
    return finished != 200;
}""",
        wait=True,
    )

    assert [each.seconds is not None for each in seen.calls] == [True]


def test_empty_matrices_are_told_apart_and_too_many_sizes_do_no_harm(traced: Traced) -> None:
    seen = traced(r"""
int main(void) {
    call(102, 111, 111, 0, 4, 4);
    for (int i = 1; i <= 9000; ++i) call(102, 111, 111, i, 4, 4);
    return real_calls != 9001;
}""")

    assert seen.skipped == 1
    assert len(seen.calls) == 8191
    assert seen.lost == 809


def test_calls_that_return_an_error_are_counted_apart(traced: Traced) -> None:
    seen = traced(r"""
static int call_half(int m, uint16_t alpha) {
    return CLBlastHgemm(102, 111, 111, m, 5, 6, alpha, 0, 0, 8, 0, 0, 8, 7, 0, 0, 8, 0, 0);
}
int main(void) {
    for (int i = 0; i < 1000; ++i)
        if (!call_half(3, 9) || call_half(4, i ? 0x3c00 : 9) != (i ? 0 : -1)) return 1;
    return real_calls != 2000;
}""")

    assert _counts(seen) == {("hgemm_nn", "4x5x6", "clblast"): 999}
    assert (seen.failed, seen.skipped) == (1001, 0)


def test_a_call_with_a_negative_size_costs_no_other_call(traced: Traced) -> None:
    seen = traced(r"""
int main(void) {
    for (int i = 0; i < 3; ++i) call(102, 111, 111, -1, 4, 4);
    call(102, 111, 111, 4, 4, -4);
    call(102, 111, 111, 4, 4, 4);
    return real_calls != 5;
}""")

    assert _counts(seen) == {("sgemm_nn", "4x4x4", "cblas"): 1}
    assert seen.skipped == 4


def test_a_size_beyond_32_bits_is_not_taken_for_what_is_left_of_it(traced: Traced) -> None:
    seen = traced(r"""
static int strided(size_t m, size_t batch) {
    Double2 alpha = {1, 2}, beta = {3, 4};
    return CLBlastZgemmStridedBatched(102, 111, 111, m, 5, 6, alpha, 0, 0, 8, 9, 0, 0, 8, 9, beta,
                                      0, 0, 8, 9, batch, 0, (void *)5);
}
int main(void) {
    size_t beyond = (size_t)1 << 32;
    return strided(beyond + 64, 3) || strided(64, beyond + 3) || strided(64, beyond / 2 + 3) ||
           CLBlastHgemm(102, 111, 111, 4, 5, beyond + 6, 0x3c00, 0, 0, 8, 0, 0, 8, 7, 0, 0, 8, 0,
                        0) ||
           strided(64, 3) || real_calls != 5;
}""")

    assert _counts(seen) == {("zgemm_nn_batched", "64x5x6x3", "clblast"): 1}
    assert seen.skipped == 4
