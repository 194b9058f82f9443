# shellcheck shell=bash
# The half of the living bash that lives inside bash. Started by coprocess.py as
#
#     bash --noprofile --norc prelude.bash FOLDER
#
# FOLDER is private to the host and holds FIFOs: q (requests), r (replies), o and e (the outputs of a
# call), and the files a (a request too long for the FIFO), i (stdin of a call), t (scratch).
#
# Rules for everything here: bash 3.2 to 5.3; names begin with __rb_; no word depends on IFS; what runs
# through eval at call time begins with a backslash or a quote, so that no alias can catch it; nothing
# forks. The loop is one compound command, parsed before any script is sourced.
#
# Descriptors 1 and 2 are closed while the loop idles, so that every redirection opens straight onto
# them: no saved copies at descriptor 10 and above that a hook's children could hold, and 8 µs less per call.

__rb_d=$1   # the folder
__rb_n=0    # requests read so far: the reply carries it, the host drops replies with another number
__rb_l=0    # the BASH_SUBSHELL level at which a call runs: 1 in an isolated call
__rb_q=     # the request: shell code, quoted by protocol.py
__rb_w=     # what it wants read back: calls of __rb_v, __rb_a, __rb_f, __rb_F
__rb_s=0    # status of the call: what it exited with, else __rb_c
__rb_c=0    # status of the command
__rb_x=-    # how it left: '-' returned, 'exit', 'int'
__rb_i=     # set by an isolated call: the subshell may have replied already
__rb_b=0    # reads in a row that brought nothing
__rb_T=     # functrace and errtrace as they were before unwinding
shift

# A scalar: "1" and its value, or "" and "" when it is unset.
__rb_v() { \builtin eval "\\builtin printf '%s\\0' \"\${$1+1}\" \"\${$1-}\""; }

# The elements of an array: count first, because an empty array is not one empty string.
__rb_a() { \builtin eval "\\builtin printf '%s\\0' \"\${#$1[@]}\" \"\${$1[@]}\""; }

# Everything about a variable: its declaration (for the attributes), count, keys, elements.
__rb_f() {
    \builtin declare -p "$1" || __rb_t= # errexit acts in here, see the loop
    \builtin printf '\0'
    \builtin eval "\\builtin printf '%s\\0' \"\${#$1[@]}\" \"\${!$1[@]}\" \"\${$1[@]}\""
}

# Names, a line each: of all variables, of all functions.
__rb_N() { \builtin compgen -A variable; \builtin printf '\0'; }
__rb_F() { \builtin compgen -A function; \builtin printf '\0'; }

# The reply to a call that wants values. What would spoil it steps aside meanwhile: nounset, a byte 1 in
# IFS (breaks even a quoted "${a[@]}"), and a DEBUG trap that functions inherit (it could print into it).
__rb_values() {
    case $- in
    *T*)
        \builtin trap -p DEBUG 1>"$__rb_d/t"
        \builtin trap - DEBUG
        __rb_send
        \builtin . "$__rb_d/t" ;;
    *) __rb_send ;;
    esac
} 2>/dev/null

__rb_send() {
    \builtin printf '%s %s %s %s\0' "$__rb_n" "$__rb_s" "$__rb_x" "$-"
    case $- in
    *u*) \builtin set +u; \builtin eval "$__rb_w"; \builtin set -u ;;
    *) case ${IFS-} in
        *$'\001'*) \builtin eval $'IFS=" \t\n" \\builtin eval "$__rb_w"' ;;
        *) \builtin eval "$__rb_w" ;;
        esac ;;
    esac
    \builtin printf '=%s\0' "$__rb_n"
} 1>"$__rb_d/r"

# The end of an isolated call, as the EXIT trap of its subshell: however the hook left, the values are
# read back before they are gone. The mark tells the parent that a reply was sent.
__rb_leave() {
    case $__rb_x in -) __rb_s=$1 ;; esac
    __rb_values || :
    : >"$__rb_d/m"
}

# `exit` in a hook must not end the shell. In the main shell it notes the status and unwinds: with
# extdebug on, a DEBUG trap that returns 2 makes bash return from the running function or sourced
# file, so that every frame down to the loop is left in order and locals are undone.
exit() {
    __rb_t=$?
    [[ $BASH_SUBSHELL == "$__rb_l" ]] || \builtin exit "${@-$__rb_t}"
    case $# in 0) __rb_s=$__rb_t ;; *)
        case $1 in
        '' | - | + | *[!0-9+-]* | ?*[+-]*)
            \builtin printf '%s: exit: %s: numeric argument required\n' "$0" "$1" >&2
            __rb_s=255 ;;
        *) __rb_s=$(($1 & 255)) ;;
        esac ;;
    esac
    __rb_x='exit'
    __rb_unwind
}

# SIGINT from the host ends the hook, not the shell.
__rb_int() {
    [[ $BASH_SUBSHELL == "$__rb_l" ]] || \builtin exit 130
    case $__rb_q in '') return ;; esac # nothing runs
    __rb_s=130 __rb_x=int
    __rb_unwind
}

__rb_unwind() {
    __rb_T=$-
    \builtin trap -p DEBUG >"$__rb_d/t" # shows one only with functrace; else bash restores it by itself
    \builtin shopt -s extdebug
    \builtin trap __rb_debug DEBUG
}

__rb_debug() {
    # In the outermost frame the trap goes, so that bash puts the script's own one back on return. (It
    # can't where exit was the very last command of that frame: then a script's DEBUG trap is lost.)
    case ${FUNCNAME[2]-main} in main | '') \builtin trap - DEBUG ;; esac
    case ${FUNCNAME[1]-main} in main | '') return 0 ;; esac
    return 2
}

# After a call that was unwound. Turning extdebug off turns functrace and errtrace off, too.
__rb_rewind() {
    \builtin shopt -u extdebug
    case $__rb_T in *E*) \builtin set -E ;; esac
    case $__rb_T in *T*) \builtin set -T; \builtin . "$__rb_d/t" ;; esac
}

\builtin readonly -f __rb_v __rb_a __rb_f __rb_N __rb_F __rb_values __rb_send __rb_leave __rb_int \
    __rb_unwind __rb_debug __rb_rewind
\builtin trap __rb_int INT
exec 1>&- 2>&-

while :; do
    __rb_q=
    IFS= builtin read -u 1 -r -d '' __rb_q 1<"$__rb_d/q" || __rb_s=$?
    case $__rb_q in
    '') # nothing came: the host is gone, TMOUT is set, or the script put something in our way
        case $__rb_s:$__rb_b in
        1:* | *:9) builtin exit 1 ;;
        esac
        __rb_b=$((__rb_b + 1))
        # An assignment can't be redefined; in POSIX mode unset, a special builtin, wins over functions.
        [[ -o posix ]] && __rb_t=1 || __rb_t=
        POSIXLY_CORRECT=1
        \unset -f builtin
        case $__rb_t in '') \unset POSIXLY_CORRECT ;; esac
        continue ;;
    esac
    __rb_b=0 __rb_x=- __rb_c=0 __rb_n=$((__rb_n + 1))
    # In a condition, as the controllers call hooks: errexit is visible in $- and doesn't act. The
    # condition has to stand inside: bash would not see it behind "builtin eval".
    builtin eval "$__rb_q || __rb_c=\$?" 1>"$__rb_d/o" 2>"$__rb_d/e" || case $__rb_c in 0) __rb_c=$? ;; esac
    case $__rb_x in -) __rb_s=$__rb_c ;; *) __rb_rewind ;; esac
    # Is the builtin genuine? By its effect, the one thing that can't be faked cheaply (1 µs).
    __rb_t=
    builtin printf -v __rb_t %s 1
    case $__rb_t in 1) ;; *) POSIXLY_CORRECT=1; \unset -f builtin; \unset POSIXLY_CORRECT ;; esac
    case $__rb_w$__rb_i in
    '') builtin printf '%s %s %s %s\0' "$__rb_n" "$__rb_s" "$__rb_x" "$-" 1>"$__rb_d/r" ;;
    *)
        [[ $__rb_i && -e $__rb_d/m ]] || __rb_values || :
        __rb_w='' __rb_i='' ;;
    esac
done
