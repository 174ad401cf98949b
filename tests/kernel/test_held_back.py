import pytest

from mltune.kernel.held_back import holds_back, released
from tests.ptx_texts import BODY, HEAD, HELD_BACK, OTHERS


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
        (HELD_BACK, True),
        ("", False),
    ],
)
def test_only_the_mark_inside_of_a_string_counts(source: str, expected: bool) -> None:
    assert holds_back(source) is expected


def test_the_text_of_the_second_build_has_the_instructions_and_their_target() -> None:
    text = released(HEAD + BODY + b"\0")

    assert text is not None
    assert b"\n.target sm_90a, texmode_independent\n" in text
    assert b"\n\t    wgmma.fence.sync.aligned;\n" in text
    assert b"\n\t    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1" in text
    assert b"//@" not in text
    assert not text.endswith(b"\0")
    assert text.count(b"// end inline asm") == 2


def test_a_target_that_has_everything_stays() -> None:
    wanted = HEAD.replace(b"sm_90,", b"sm_90a,")

    assert released(wanted + BODY) == released(HEAD + BODY)


@pytest.mark.parametrize("binary", OTHERS.values(), ids=OTHERS)
def test_other_binaries_have_no_second_build(binary: bytes) -> None:
    assert released(binary) is None
