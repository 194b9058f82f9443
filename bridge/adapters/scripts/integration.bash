# What ralph-bridge loads into bash: announcements of prompts and commands (OSC 633), each ending in a nonce and
# the prompt's number. No value of the nonce may get where a child of the shell sees it: not into an exported variable
# (so PS1, which may be one, has its name only), and not into the trace, which may go to a file.
# shellcheck disable=SC1090,SC2016,SC2128,SC2178 # the user's file isn't known; PROMPT_COMMAND is an array only since bash 5.1
# bash 3.2 to 5.3. Names begin with __rb_; `builtin` keeps us from functions of the same name.

if [ -z "${__rb_nonce-}" ]; then
    # --rcfile put us in the place of ~/.bashrc. A person wants it; for a machine it is only what differs elsewhere,
    # and what it hangs into the prompt costs time with every command.
    if [ -n "${RALPH_BRIDGE_RCFILE-}" ] && [ -n "${RALPH_BRIDGE_PERSON-}" ] && [ -r ~/.bashrc ]; then
        . ~/.bashrc
    fi
    builtin unset RALPH_BRIDGE_RCFILE
    __rb_nonce='{nonce}'
    __rb_number=0
    __rb_status=0
    builtin export -n __rb_nonce
    if [ -z "${RALPH_BRIDGE_PERSON-}" ]; then
        builtin unset HISTFILE # what a machine types is not the user's history
    fi
    builtin unset RALPH_BRIDGE_PERSON
    builtin set +o histexpand # "!" in a command means itself

    __rb_mark() {
        case $- in
        *x*)
            builtin set +x
            __rb_mark "$1"
            builtin set -x
            ;;
        *) builtin printf '\033]633;%s;%s.%s\007' "$1" "$__rb_nonce" "$__rb_number" ;;
        esac
    }

    # What `set -x` says of these isn't the command's output.
    __rb_first='{ __rb_finished; } 2> /dev/null'
    __rb_last='{ __rb_prompt; } 2> /dev/null'

    # First of the prompt commands: nothing may have touched the status yet.
    __rb_finished() {
        __rb_status=$?
        __rb_busy=
        __rb_mark "D;$__rb_status"
        return "$__rb_status"
    }

    # Last of them: what others print or set belongs before the prompt.
    __rb_prompt() {
        builtin shopt -s promptvars
        case $PS1 in
        *'$__rb_nonce'*) ;;
        *) PS1="$PS1"'\[\e]633;B;$__rb_nonce.$__rb_number\a\]' ;;
        esac
        case $PS2 in
        *'$__rb_nonce'*) ;;
        *) PS2="$PS2"'\[\e]633;K;$__rb_nonce.$__rb_number\a\]' ;;
        esac
        if [ -n "${__rb_ps0-}" ]; then
            case $PS0 in
            *'$__rb_nonce'*) ;;
            *) PS0="$PS0"'\e]633;C;$__rb_nonce.$__rb_number\a' ;;
            esac
        fi
        if [ -n "${__rb_list-}" ] && [ "${PROMPT_COMMAND[0]-}" != "$__rb_first" ]; then
            # Somebody has assigned to the variable, which replaces the first element: ours.
            if [ -n "${PROMPT_COMMAND[0]-}" ]; then
                PROMPT_COMMAND=("$__rb_first" "${PROMPT_COMMAND[@]}")
            else
                PROMPT_COMMAND[0]=$__rb_first
            fi
        fi
        __rb_number=$((__rb_number + 1))
        __rb_mark "P;Cwd=$PWD"
        __rb_mark A
        __rb_busy=ready
        return "$__rb_status"
    }

    case $BASH_VERSION in
    [0-3].* | 4.[0-3].*)
        # No PS0: the DEBUG trap fires before the first command of a line instead.
        __rb_debug() {
            if [ "${__rb_busy-}" = ready ] && [ -z "${COMP_LINE-}" ] && [ "$BASH_COMMAND" != __rb_finished ]; then
                __rb_busy=
                __rb_mark C
            fi
        }
        builtin trap '__rb_debug' DEBUG
        ;;
    *)
        __rb_ps0=1
        ;;
    esac

    case $BASH_VERSION in
    [0-4].* | 5.0.*)
        PROMPT_COMMAND="$__rb_first${PROMPT_COMMAND:+
$PROMPT_COMMAND}
$__rb_last"
        ;;
    *)
        __rb_list=1
        PROMPT_COMMAND=("$__rb_first" ${PROMPT_COMMAND[@]+"${PROMPT_COMMAND[@]}"} "$__rb_last")
        ;;
    esac
fi
