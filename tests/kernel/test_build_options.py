import pytest

from mltune.errors import UsageError
from mltune.kernel.build_options import check_build_options


def test_options_that_say_how_to_compile_are_allowed() -> None:
    check_build_options(
        ("-cl-std=CL1.2", "-cl-fast-relaxed-math", "-cl-nv-maxrregcount=64", "-DTILE=8", "-w")
    )


@pytest.mark.parametrize(
    "option",
    [
        "",
        "-D",
        "-DX=$(true)",
        "-DX=1 -I/",
        "-I/etc",
        "-Wl,-x",
        "-cl-std=CL1.2\n-I.",
        "-cl-x=/etc",
        "-fplugin=evil.so",
        "-include",
        "-o",
        "-save-temps",
        "@file",
    ],
)
def test_any_other_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match=r"^build option .* is not allowed"):
        check_build_options((option,))
