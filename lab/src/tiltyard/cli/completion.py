"""``tiltyard completion``: what a shell needs to complete command lines."""

from typing import Final, Literal

_JOINED: Final = """
# bash splits words at ":" and "="; ours have both: -w random:block=4k, -w fio:mail.fio
_tiltyard_joined() {
  local words=() word typed=${COMP_LINE:0:COMP_POINT} last=""
  read -r -a words <<<"$typed"
  [[ $typed == *[[:space:]] ]] && words+=("")
  last=${words[${#words[@]}-1]}
  COMP_WORDS=("${words[@]}")
  COMP_CWORD=$(( ${#words[@]} - 1 ))
  _tiltyard
  [[ ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace 2>/dev/null
  # What readline keeps of the word is up to the last place where it has split it.
  [[ $last == *[:=]* ]] || return 0
  local kept=${last%"${last##*[:=]}"} place mark
  for place in "${!COMPREPLY[@]}"; do
    word=${COMPREPLY[$place]}
    for mark in : = ,; do word=${word//\\\\$mark/$mark}; done
    COMPREPLY[$place]=${word#"$kept"}
  done
}
complete -F _tiltyard_joined tiltyard
"""
_CALLED: Final = """
if [[ ${funcstack[1]} == _tiltyard ]]; then _cyclopts_tiltyard "$@"
else compdef _cyclopts_tiltyard tiltyard
fi
"""
"""Found by zsh in a folder of $fpath it is called; from a start-up file it is announced."""
_MORE: Final = {"bash": _JOINED, "zsh": _CALLED}


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the completion script of a shell: verbs, options, systems, workloads, studies.

    ```
    tiltyard completion bash > ~/.local/share/bash-completion/completions/tiltyard
    tiltyard completion zsh > ~/.zfunc/_tiltyard        # a folder of $fpath
    tiltyard completion fish > ~/.config/fish/completions/tiltyard.fish
    ```

    Args:
        shell: Which.
    """
    from tiltyard.cli.console import emit

    emit(script(shell).encode())


def script(shell: Literal["bash", "zsh", "fish"]) -> str:
    """The text of the script."""
    from tiltyard.cli import add_verbs, app

    add_verbs()
    return app.generate_completion(shell=shell) + _MORE.get(shell, "")
