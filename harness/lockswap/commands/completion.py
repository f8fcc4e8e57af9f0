"""`lockswap completion`."""

from __future__ import annotations

import click

from lockswap.commands.options import SETTINGS


@click.command("completion", context_settings=SETTINGS, short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
def completion_command(shell: str) -> None:
    """Print a script with which a shell completes commands, options, locks, mutexes, workloads and campaigns. An
    installation puts the scripts where the shells look for them.

    \b
    For this bash:
      eval "$(lockswap completion bash)"
    For zsh, in a directory on its fpath:
      lockswap completion zsh > ~/.zfunc/_lockswap
    For fish:
      lockswap completion fish > ~/.config/fish/completions/lockswap.fish
    """
    from lockswap.shell import scripts

    print(scripts.script(click.get_current_context().find_root().command, shell))
