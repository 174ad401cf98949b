import pytest

from mltune.kernel.two_step_build import needs_two_steps, second_step_text
from tests.ptx_texts import BODY, HEAD, OTHERS, TWO_STEPS


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");', True),
        ('asm volatile("{ .reg .pred p;\\n\\t//@ wgmma.fence.sync.aligned; }");', True),
        ('#define ADD(x) \\\n    asm volatile("//@ add " \\\n "%0;" :: "r"(x))', True),
        ('asm volatile("say \\"//@ this;\\"");', True),
        ("//@ an ordinary comment", False),
        ('int x; //@ "an ordinary comment"', False),
        ('/* "//@ " */ int x;', False),
        ('asm volatile("bar.sync 0;"); //@ after a string', False),
        ('asm volatile("//@wgmma.fence.sync.aligned;");', False),
        (TWO_STEPS, True),
        ("", False),
    ],
)
def test_only_the_mark_inside_of_a_string_counts(source: str, expected: bool) -> None:
    assert needs_two_steps(source) is expected


def test_the_text_of_the_second_build_has_the_instructions_and_their_target() -> None:
    text = second_step_text(HEAD + BODY + b"\0")

    assert text is not None
    assert b"\n.target sm_90a, texmode_independent\n" in text
    assert b"\n\t    wgmma.fence.sync.aligned;\n" in text
    assert b"\n\t    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1" in text
    assert b"//@" not in text
    assert not text.endswith(b"\0")
    assert text.count(b"// end inline asm") == 2


def test_a_target_that_has_everything_stays() -> None:
    wanted = HEAD.replace(b"sm_90,", b"sm_90a,")

    assert second_step_text(wanted + BODY) == second_step_text(HEAD + BODY)


@pytest.mark.parametrize("binary", OTHERS.values(), ids=OTHERS)
def test_other_binaries_have_no_second_build(binary: bytes) -> None:
    assert second_step_text(binary) is None
