# about: variables with a meaning are unset or changed
# sees: returned 0
hook() { unset BASH_SUBSHELL FUNCNAME BASH_SOURCE LINENO RANDOM SECONDS BASHPID PIPESTATUS DIRSTACK GROUPS HOSTNAME PWD OLDPWD SHLVL; return 0; } 2>/dev/null
