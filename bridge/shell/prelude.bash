# shellcheck shell=bash disable=SC2016
# The half of the living bash that lives inside bash. Started by coprocess.py as
#
#     bash --noprofile --norc FOLDER/prelude FOLDER PIPE
#
# where FOLDER/prelude is this file with the loop at its end several times over (see there). FOLDER is
# private to the host and holds FIFOs: q (requests), r (replies), o and e (the outputs of a call), and the
# files a and a2 (requests too long for the FIFO), i (stdin of a call), b (the script's own "builtin"),
# t (scratch), m (the mark of an isolated call). What bash writes to is made by the host, for its rights,
# and written with >|, because of noclobber.
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
__rb_P=$$   # and its process
__rb_q=     # the request: a mark, then shell code, quoted by protocol.py; not empty until it has run to its end
__rb_p=     # the first part of a request that a signal cut in two
__rb_B=     # brings back a function "builtin" of the script, when it has one
__rb_w=     # what it wants read back: calls of __rb_a, __rb_f, __rb_N, __rb_F
__rb_s=0    # status of the call: what it exited with, else __rb_c
__rb_c=0    # status of the command
__rb_x=     # how it left: the mark of its request: returned (or runs), 'exit', 'int', 'lost'; empty: nothing to reply to
__rb_z=     # status of what stood before the present copy of the loop
__rb_i=     # set by an isolated call: the subshell may have replied already
__rb_b=0    # reads in a row that brought nothing; 9 ends the loop and with it bash: at once, when __rb_d is no folder
__rb_T=     # functrace and errtrace as they were before unwinding
__rb_D=     # not __rb_: a DEBUG trap has run since the hook ended
__rb_V=5    # how much of $_ tells that; only of bash 5 it is known, before that every call counts as one
case ${BASH_VERSINFO[0]} in 3 | 4) __rb_V=0 ;; esac
__rb_X=     # not empty: `exit` was called in a trap
__rb_K=     # T: the script's DEBUG and RETURN traps are kept between calls, in __rb_E and __rb_R
__rb_E='' __rb_R=''
__rb_g=$2   # the guardian's pipe: see guardian.py
\builtin shift 2

# The elements of an array: count first, because an empty array is not one empty string.
__rb_a() { \builtin eval "\\builtin printf '%s\\0' \"\${#$1[@]}\" \"\${$1[@]}\""; }

# Everything about a variable: its declaration (for the attributes), count, keys, elements.
__rb_f() {
    case $1:${__rb_I+hidden} in IFS:hidden) # see __rb_carefully
        \builtin printf '%s\0' 'declare -- IFS' 1 0 "$__rb_I"
        \builtin return ;;
    esac
    \builtin declare -p "$1" || __rb_t= # errexit acts in here, see the loop
    \builtin printf '\0'
    # The keys are counted: ${#BASH_CMDS[@]} is the end of bash 4.0.
    \builtin eval "\\builtin set -- \"\${!$1[@]}\"; \\builtin printf '%s\\0' \"\$#\" \"\$@\" \"\${$1[@]}\""
}

# Names, a line each: of all variables, of all functions.
__rb_N() { \builtin enable compgen 2>&-; \builtin compgen -A variable; \builtin printf '\0'; }
__rb_F() { \builtin enable compgen 2>&-; \builtin compgen -A function; \builtin printf '\0'; }

# The reply to a call that wants values. What would spoil it steps aside meanwhile: nounset, a byte 1 or 127
# in IFS (break even a quoted "${a[@]}"), and DEBUG and RETURN traps that functions inherit (they could
# print into it).
__rb_values() {
    case $- in
    *T*)
        \builtin trap -p DEBUG RETURN 1>|"$__rb_d/t"
        \builtin trap - DEBUG RETURN
        __rb_send
        \builtin . "$__rb_d/t" ;;
    *) __rb_send ;;
    esac
} 2>/dev/null

__rb_carefully() {
    case "${IFS-}" in *$'\001'* | *$'\177'*)
        __rb_I="$IFS" # unquoted, bash 4.2 to 4.4 drop a byte 1
        # A local one: IFS as a temporary variable of eval is forgotten after the first nested eval.
        \builtin local IFS=$' \t\n' ;;
    esac
    case $- in
    *u*) \builtin set +u; \builtin eval "$__rb_w"; \builtin set -u ;;
    *) \builtin eval "$__rb_w" ;;
    esac
    \builtin unset -v __rb_I
}

__rb_send() {
    \builtin printf '%s %s %s %s\0' "$__rb_n" "$__rb_s" "$__rb_x" "$-"
    case "$-:${IFS-}" in # quoted: unquoted, bash drops these bytes
    *u*:* | *$'\001'* | *$'\177'*) __rb_carefully ;;
    *) \builtin eval "$__rb_w" ;;
    esac
    \builtin printf '=%s\0' "$__rb_n"
} 1>"$__rb_d/r"

# The end of an isolated call, as the EXIT trap of its subshell: however the hook left, the values are
# read back before they are gone. The mark tells the parent that a reply was sent.
__rb_leave() {
    case $__rb_x in $'\036\037') __rb_s=$1 __rb_x=- ;; esac
    __rb_t=
    \builtin declare __rb_t=1 1>&- 2>&- || __rb_t= # sets a local here; a function "builtin" can't
    case $__rb_t in 1) ;; *) __rb_mend || __rb_t= ;; esac
    __rb_values || :
    \builtin printf '%s\n' "$__rb_n" >|"$__rb_d/m" || :
}

# `exit` in a hook must not end the shell. In the main shell it notes the status and unwinds: with
# extdebug on, a DEBUG trap that returns 2 makes bash return from the running function or sourced
# file, so that every frame down to the loop is left in order and locals are undone.
exit() {
    __rb_u=$? __rb_X=trap
    # In a trap this is the command that it interrupted. A DEBUG trap that exits, between the end of the hook that
    # has set it and the loop's taking it away, exits nothing.
    case ${BASH_COMMAND-} in
    'case ${BASH_COMMAND-}'*) __rb_X= ;;
    'builtin read'*) ;;
    *__rb_* | *'trap - DEBUG RETURN') \builtin return 0 ;;
    esac
    __rb_here || \builtin exit "${@-$__rb_u}"
    case ${1-} in --) \builtin shift ;; esac
    case $# in
    0) __rb_s=$__rb_u ;;
    1) __rb_number "$1" ;;
    *)
        \builtin printf '%s: exit: too many arguments\n' "$0" >&2
        __rb_s=1 ;;
    esac
    __rb_x='exit'
    __rb_unwind
}

# Is this the process in which the call runs, and not one that bash forked? BASH_SUBSHELL doesn't count all of
# them: not command_not_found_handle, and before 5.0 not the parts of a pipeline. bash 3 has no BASHPID.
__rb_here() {
    [[ $BASH_SUBSHELL == "$__rb_l" ]] || \builtin return 1
    case ${BASH_VERSINFO[0]}:$__rb_l in 3:0)
        __rb_o=$(\builtin exec /bin/sh -c 'echo "$PPID"' 2>/dev/null) || :
        case ${__rb_o##*$'\n'} in '' | "$$") ;; *) \builtin return 1 ;; esac ;;
    esac
    [[ ${BASHPID-$$} == "${__rb_P-$$}" ]]
}

# What exit makes of its argument: decimal, blanks around it, a sign.
__rb_number() {
    __rb_t=${1#"${1%%[![:space:]]*}"}
    __rb_t=${__rb_t%"${__rb_t##*[![:space:]]}"}
    case $__rb_t in
    '' | - | + | *[!0-9+-]* | ?*[+-]* | ????????????????????*)
        \builtin printf '%s: exit: %s: numeric argument required\n' "$0" "$1" >&2
        __rb_s=255 ;;
    -*) __rb_s=$((-10#${__rb_t#-} & 255)) ;;
    *) __rb_s=$((10#${__rb_t#+} & 255)) ;;
    esac
}

# SIGINT from the host ends the hook, not the shell.
__rb_int() {
    __rb_here || \builtin exit 130
    case $__rb_x in $'\036\037') ;; *) return ;; esac # nothing runs
    __rb_s=130 __rb_x=int
    __rb_unwind
}

__rb_unwind() {
    __rb_T=$-
    \builtin enable trap shopt set return 2>&-
    case $__rb_x$__rb_X:$- in
    exit:*T*) __rb_take ;;
    *) __rb_drop ;;
    esac
    \builtin shopt -s extdebug
    # In the frame that is left, not in a function of ours: a RETURN trap that returns or exits would run again, for ever.
    \builtin trap '\builtin trap - RETURN; __rb_debug' DEBUG
}

__rb_debug() {
    \builtin set +e # errexit would end bash on the way; in every frame, because of `local -`
    case ${FUNCNAME[1]-main} in main | '') return 0 ;; esac
    return 2
}

# After a call that was unwound. Turning extdebug off turns functrace and errtrace off, too.
__rb_rewind() {
    \builtin shopt -u extdebug
    case $__rb_T in *e*) \builtin set -e ;; esac
    case $__rb_T in *E*) \builtin set -E ;; esac
    case $__rb_T in *T*) \builtin set -T ;; esac
}

# A DEBUG or RETURN trap that a hook leaves behind is for the script's commands, not for ours. Without functrace no
# function of a later call would inherit it, so the loop drops it. With functrace it is kept from one call to the
# next: the first command of the script's own (see __rb_first) puts it back. Not kept is what no call would survive:
# a trap that exits or doesn't end, and with extdebug one that says which commands are run.
__rb_keep() {
    case $__rb_x:$- in
    exit:* | int:*) ;; # kept by __rb_unwind; functrace is on because of extdebug
    *T*) __rb_take ;;
    *) __rb_drop ;;
    esac
}

__rb_drop() {
    \builtin trap - DEBUG RETURN
    __rb_K='' __rb_E='' __rb_R=''
}

__rb_take() {
    if \builtin shopt -q extdebug; then
        __rb_drop
        \builtin return
    fi
    \builtin trap -p DEBUG 1>|"$__rb_d/t"
    \builtin trap - DEBUG
    IFS='' \builtin read -rd '' __rb_t <"$__rb_d/t" && __rb_o=
    case $__rb_t in
    *'\__rb_first || '*) __rb_o=waits ;; # no command of the script's has run
    *)
        __rb_t=${__rb_t#trap -- } __rb_o=
        \builtin eval "__rb_E=${__rb_t% DEBUG*}"
        case $__rb_E in -) __rb_E= ;; esac ;; # what POSIX mode prints for none
    esac
    \builtin trap -p RETURN 1>|"$__rb_d/t"
    \builtin trap - RETURN
    IFS='' \builtin read -rd '' __rb_t <"$__rb_d/t" && __rb_o=
    case $__rb_o$__rb_t in waits | 'waitstrap -- - '*) ;; 'trap -- - '*) __rb_R= ;; *) __rb_R=${__rb_t:+"\\builtin $__rb_t"} ;; esac
    case $__rb_E$__rb_R in '') __rb_K= ;; *) __rb_K=T ;; esac
}

# The DEBUG trap of a call until the script's code is reached: 0 while the command is one of ours. It doesn't bring
# the RETURN trap (the command __rb_R) itself, which would be run for its own return.
__rb_first() {
    case ${FUNCNAME[1]-}:${BASH_SOURCE[1]-} in
    :* | main:* | "source:$__rb_d"/* | __rb_*:* | "exit:$__rb_d/prelude") \builtin return 0 ;;
    esac
    case $__rb_E in '') \builtin trap - DEBUG ;; *) \builtin trap -- "$__rb_E" DEBUG ;; esac
    \builtin return 1
}

# `builtin` is not the real one: it is a function of the script's, or was turned off. The bare assignment
# needs no trusted command and makes special builtins such as unset win over functions. The function is
# kept, and is back whenever the script's code runs; so this costs a fork per call, but only with such a script.
# $1 is what __rb_t is set to here, where the caller is in POSIX mode already.
__rb_mend() {
    [[ -o posix ]] && __rb_t=posix || __rb_t=:${BASHOPTS-}:
    __rb_t=${1-$__rb_t}
    POSIXLY_CORRECT=1
    \trap - DEBUG RETURN # one that functions inherit could undo what follows
    (\unset -f declare; \declare -f builtin eval) 1>|"$__rb_d/b" 2>/dev/null
    \unset -f builtin eval # no redirection: one that fails would end bash here
    case $__rb_t in posix) ;; *) \unset POSIXLY_CORRECT ;; esac
    \enable builtin read eval printf declare trap exit 1>/dev/null 2>&1
    # Only now: in POSIX mode "." is no name of a function; declare refuses it, and so did unset before bash 5.
    if \builtin declare -F .; then
        \builtin declare -f . 1>>"$__rb_d/b"
        \builtin unset -f .
    fi 1>/dev/null 2>&1
    case $__rb_t in posix | *:inherit_errexit:*) ;; *) \builtin shopt -u inherit_errexit 2>/dev/null ;; esac
    # Leaving POSIX mode turned the expansion of aliases off.
    case $__rb_t in *:expand_aliases:*) \builtin shopt -s expand_aliases ;; esac
    if [[ -s $__rb_d/b ]]; then __rb_B='\builtin . "$__rb_d/b"'; fi
    __rb_t=
    \builtin printf -v __rb_t %s 1
    case $__rb_t in 1) ;; *) __rb_b=9 ;; esac # a readonly function
}

# The host's code is about to use `eval` or `.` in a condition, which bash would not see behind `builtin`: so
# functions of these names step aside, too.
__rb_plain() {
    \builtin enable . 2>&-
    if \builtin declare -F eval || \builtin declare -F .; then __rb_mend; fi 1>/dev/null 2>&1
}

# A request that needs more than to be run: it came in two parts, something that a script wrote stands in front
# of it or instead of it, or traps or the script's "builtin" must be back. The host's own code that uses builtin
# names __rb_B where it is done with it.
__rb_prepare() {
    __rb_q=$__rb_p$__rb_q __rb_p=
    case $__rb_q in
    *$'\036\037;'*) __rb_q=${__rb_q##*$'\036\037;'} ;;
    *)
        __rb_q=' __rb_x= __rb_n='$__rb_n # no reply
        \builtin return ;;
    esac
    case $__rb_B in
    '') ;;
    *) case $__rb_q in
        *'$__rb_B'* | *'_d/a2"'*) ;;
        *) __rb_q='\builtin eval "__rb_B=;$__rb_B"'$'\n'$__rb_q ;;
        esac ;;
    esac
    case $__rb_K in '') ;; *)
        __rb_q='\builtin trap '"'"'\__rb_first || \builtin eval "$__rb_R$__rb_E"'"'"' DEBUG'$'\n'$__rb_q ;;
    esac
    __rb_q=$'\036\037;'$__rb_q
}

# Reading failed, with status $1. Above 128: a signal (in POSIX mode); what has come so far is kept. Else `read`
# was turned off, or the channel is gone and so is the host: that ends bash.
__rb_trouble() {
    if [[ $1 -gt 128 ]]; then
        __rb_p=$__rb_p$__rb_q
    elif [[ $__rb_b == 0 ]] && ! IFS='' \builtin read -r __rb_t <<<x; then
        __rb_b=1
        __rb_mend || __rb_t=$?
    else
        __rb_b=9
    fi
    __rb_q=
}

# The request never ran, because eval was turned off or an output could not be opened.
__rb_failed() {
    __rb_mend || __rb_t=$?
    \builtin eval "__rb_n=$((__rb_n + 1)) __rb_x=$__rb_q && __rb_k()(\:)" 1>"$__rb_d/o" 2>"$__rb_d/e" || __rb_c=$?
    [[ $__rb_x ]] || __rb_b=9
    __rb_q='' __rb_D=
}

# The request did not run to its end: a break or continue outside any loop found ours, or an error from which bash
# returns to the top level of the script that it runs, whatever eval there is (invalid arithmetic in an assignment).
# The host is told, and makes up for the copy of the loop that is used up.
__rb_broken() {
    __rb_q=
    __rb_c=1
    case $__rb_x in $'\036\037') __rb_x=lost ;; esac
    case $__rb_z in 0) \builtin printf '%s: break or continue outside of a loop ended this early\n' "$0" 1>"$__rb_d/e" ;; esac
}

\builtin readonly -f __rb_a __rb_f __rb_N __rb_F __rb_values __rb_send __rb_carefully __rb_leave __rb_int \
    __rb_here __rb_number __rb_unwind __rb_debug __rb_rewind __rb_keep __rb_drop __rb_take __rb_first __rb_mend \
    __rb_plain __rb_prepare __rb_trouble __rb_failed __rb_broken
\builtin trap '\builtin trap - RETURN; __rb_int' INT # a RETURN trap that returns runs for ever; it isn't kept
POSIXLY_CORRECT=1 # an exported function "exec" of the environment loses against the special builtin
\builtin trap '' PIPE # somebody may have killed the guardian
\builtin printf '+ %s %s\n' "$$" "$__rb_d" 1>&"$__rb_g" 2>&-
\builtin trap - PIPE
\eval "\\exec 1>&- 2>&- $__rb_g>&-"
\unset POSIXLY_CORRECT
\builtin shopt -u inherit_errexit # which POSIX mode has left on; bash 3.2 to 4.3 have no such option

# --- the loop: FOLDER/prelude has it several times, because a `break` outside any loop of a sourced file
# leaves ours. What was to be replied is replied by the next copy, and at the next turn after a `continue`.
__rb_z=$? # not 0: an error threw bash out of the loop
case $__rb_x in '') ;; *) builtin trap - DEBUG RETURN ;; esac # one that breaks would leave every copy
until [[ $__rb_b == 9 ]]; do # where nothing is run any more (set -n, extdebug), this ends it: so does bash
    case $-:$__rb_D in *T*:*) __rb_D=T ;; esac
    case $__rb_x in
    '') ;;
    *)
        # Is the builtin genuine? By its effect (1 µs): in a function, even one that passes on, declare
        # would make a local variable.
        builtin declare __rb_t="$__rb_n" || __rb_t=
        case $__rb_x$__rb_D$__rb_q$__rb_w$__rb_i${__rb_K-}:$__rb_t in
        $'\036\037__rb_:'"$__rb_n") # nearly always: it returned, nothing is wanted, nothing is strange
            builtin printf '%s %s - %s\0' "$__rb_n" "$__rb_c" "$-" 1>"$__rb_d/r" || {
                __rb_mend || __rb_t=$?
                builtin printf '%s %s - %s\0' "$__rb_n" "$__rb_c" "$-" 1>"$__rb_d/r" || __rb_b=9 __rb_d=/dev/null
            } ;;
        *)
            # What a DEBUG trap of the script's has printed until here went nowhere; nor does it see the next call's code.
            case $__rb_t in
            "$__rb_n") case $-${__rb_K-} in *T*) __rb_keep ;; esac ;;
            *) # Its DEBUG trap may make such a builtin anew before each command; in POSIX mode trap wins over
                # functions, but defining one of the name of a special builtin would end bash there.
                \command trap - DEBUG RETURN
                [[ -o posix && $__rb_d ]] && __rb_t=posix || __rb_t=:${BASHOPTS-}:
                POSIXLY_CORRECT=1 __rb_o=
                \trap - DEBUG RETURN
                __rb_mend "$__rb_t" || __rb_t=$? ;;
            esac
            builtin trap - DEBUG RETURN || {
                builtin enable trap 2>/dev/null
                builtin trap - DEBUG RETURN || __rb_t=
            }
            case $__rb_q in '') ;; *) __rb_broken ;; esac
            case $__rb_x in $'\036\037') __rb_x=- ;; esac
            case $__rb_x in - | lost) __rb_s=$__rb_c ;; *) __rb_rewind ;; esac
            __rb_t=
            builtin declare __rb_t=1 || __rb_t=
            case $__rb_t in 1) ;; *)
                __rb_mend || __rb_t=$?
                builtin trap - DEBUG RETURN || __rb_t= ;;
            esac
            case $__rb_w$__rb_i in
            '') builtin printf '%s %s %s %s\0' "$__rb_n" "$__rb_s" "$__rb_x" "$-" 1>"$__rb_d/r" || {
                __rb_mend || __rb_t=$?
                builtin printf '%s %s %s %s\0' "$__rb_n" "$__rb_s" "$__rb_x" "$-" 1>"$__rb_d/r" || __rb_b=9 __rb_d=/dev/null
            } ;;
            *)
                __rb_t=
                case $__rb_i in 1) IFS='' builtin read -r __rb_t 2>/dev/null <"$__rb_d/m" ;; esac
                # Not before every call: in POSIX mode old versions let the assignment stay.
                case $__rb_t in "$__rb_n") ;; *)
                    case ${FUNCNEST+x} in x) FUNCNEST='' __rb_values ;; *) __rb_values ;; esac || __rb_b=9 __rb_d=/dev/null ;;
                esac
                __rb_w='' __rb_i='' ;;
            esac ;;
        esac
        __rb_x='' __rb_c=0 ;;
    esac
    # Setting IFS for one command takes 2 µs; of the default one, `read` needs nothing else: no request begins
    # or ends with a blank. Behind && the status is the same, and errexit doesn't act on it. TMOUT would end the
    # waiting (before bash 4 with status 1, and what was read is lost), unless there is a limit already: this one
    # is three years, as long as setitimer takes everywhere.
    case ${IFS-x}${TMOUT-} in
    $' \t\n') builtin read -u1 -rd '' __rb_q 1<"$__rb_d/q" && __rb_t= ;;
    *) case ${TMOUT-} in
        '') IFS='' builtin read -u1 -rd '' __rb_q 1<"$__rb_d/q" && __rb_t= ;;
        *) IFS='' builtin read -t 99999999 -u1 -rd '' __rb_q 1<"$__rb_d/q" && __rb_t= ;;
        esac ;;
    esac
    case $? in 0)
        # The mark tells a request from what a script wrote into the FIFO.
        case $__rb_p$__rb_B${__rb_K-}$__rb_q in $'\036\037;'*) ;; *) __rb_prepare ;; esac
        # In a condition, as the controllers call hooks: errexit is visible in $- and doesn't act. The
        # condition has to stand inside: bash would not see it behind "builtin eval". Behind it stands what is
        # no command to a DEBUG trap, and can't be an alias: the definition of a function that nobody calls.
        # Such a trap runs next before the command that follows; then $_ is no longer what eval was given.
        if builtin eval "__rb_n=$((__rb_n + 1)) __rb_x=$__rb_q && __rb_k()(\:)" 1>"$__rb_d/o" 2>"$__rb_d/e"; then
            __rb_q='' __rb_D=${_:0:__rb_V}
        else
            case $__rb_x in
            '') __rb_failed ;;
            *) __rb_c=$? __rb_q='' __rb_D=${_:0:__rb_V} ;;
            esac
        fi ;;
    *) __rb_trouble "$?" ;;
    esac
done
