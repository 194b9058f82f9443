# about: the environment brings BASH_ENV, ENV, PS4, TMOUT, FUNCNEST and options
# env: BASH_ENV=/nonexistent/file
# env: ENV=/nonexistent/env
# env: PS4=+$(echo evil)
# env: TMOUT=1
# env: FUNCNEST=1
# env: POSIXLY_CORRECT=1
# env: SHELLOPTS=noexec:xtrace
# env: BASHOPTS=extdebug:failglob
# sees: returned 0
# stdout: /nonexistent/file /nonexistent/env\n
hook() { echo "${BASH_ENV-} ${ENV-}"; }
