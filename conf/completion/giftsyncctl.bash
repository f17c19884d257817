# bash: giftsyncctl itself says which words may follow.
_giftsyncctl() {
  mapfile -t COMPREPLY < <(compgen -W "$(giftsyncctl complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _giftsyncctl giftsyncctl
