"""`mltune completion`: scripts by which a shell completes verbs and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from mltune.cli.output import print_json

EXAMPLE = "mltune completion bash > ~/.local/share/bash-completion/completions/mltune"
SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_mltune() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "{verbs}" -- "$word"))
    elif [[ $word == -* ]]; then
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
}}
complete -o default -F _mltune mltune"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from mltune.cli.main import VERBS, parser_of

    options = {verb: tuple(_options(parser_of(verb))) for verb in VERBS}
    script = _fish(VERBS, options) if args.shell == "fish" else _bash(options)
    if args.shell == "zsh":
        script = "autoload -U +X bashcompinit && bashcompinit\n" + script
    print_json({"script": script}) if args.json else print(script)
    return 0


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from (name for name in action.option_strings if name.startswith("--"))


def _bash(options: Mapping[str, tuple[str, ...]]) -> str:
    cases = "\n".join(
        f'            {verb}) COMPREPLY=($(compgen -W "{" ".join(names)}" -- "$word")) ;;'
        for verb, names in options.items()
    )
    return _BASH.format(verbs=" ".join(options), cases=cases)


def _fish(verbs: Mapping[str, str], options: Mapping[str, tuple[str, ...]]) -> str:
    lines = []
    for verb, summary in verbs.items():
        text = summary.replace("'", "\\'")
        lines.append(f"complete -c mltune -n __fish_use_subcommand -a {verb} -d '{text}'")
        lines += [
            f"complete -c mltune -n '__fish_seen_subcommand_from {verb}' -l {name[2:]}"
            for name in options[verb]
        ]
    return "\n".join(lines)
