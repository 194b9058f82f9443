# What ralph-bridge loads into zsh: announcements of prompts and commands (OSC 633), each ending in a nonce and
# the prompt's number. PS1 may be exported: it has the place of the nonce only.

if [[ -z "${__rb_nonce-}" ]]; then
    # We stand in for the user's own start-up file: programs below must not find ours.
    if [[ -n "${ZDOTDIR-}" && "${(%):-%x}" == "$ZDOTDIR"/* ]]; then
        if [[ -n "${RALPH_BRIDGE_RC_DIR-}" ]]; then
            export ZDOTDIR="$RALPH_BRIDGE_RC_DIR"
        else
            unset ZDOTDIR
        fi
        unset RALPH_BRIDGE_RC_DIR
        if [[ -n "${RALPH_BRIDGE_PERSON-}" && -r "${ZDOTDIR:-$HOME}/.zshrc" ]]; then
            source "${ZDOTDIR:-$HOME}/.zshrc"
        fi
    fi
    typeset -g +x __rb_nonce='{nonce}'
    typeset -gi __rb_number=0
    typeset -g __rb_status=0
    if [[ -z "${RALPH_BRIDGE_PERSON-}" ]]; then
        unset HISTFILE
        SAVEHIST=0
        setopt hist_ignore_space
    fi
    unset RALPH_BRIDGE_PERSON
    # The mark behind output without line end would overwrite its first column; "!" means itself.
    setopt no_prompt_sp no_prompt_cr no_bang_hist
    # What is typed is code, not the start of something to be completed.
    zle_highlight=(none)

    __rb_mark() {
        builtin print -rn -- $'\e]633;'"$1;$__rb_nonce.$__rb_number"$'\a'
    }

    # What xtrace says of these isn't the command's output: hence their redirections.
    __rb_finished() {
        { __rb_status=$?; __rb_mark "D;$__rb_status"; return $__rb_status } 2> /dev/null
    }

    __rb_prompt() { {
        __rb_number+=1
        psvar[99]=$__rb_nonce.$__rb_number
        typeset -g +x PSVAR # which allexport exports
        if [[ "$PS1" != *%99v* ]]; then
            PS1="$PS1%{"$'\e]633;B;%99v\a'"%}"
        fi
        if [[ "$PS2" != *%99v* ]]; then
            PS2="$PS2%{"$'\e]633;K;%99v\a'"%}"
        fi
        __rb_mark "P;Cwd=$PWD"
        __rb_mark A
        return $__rb_status
    } 2> /dev/null }

    __rb_begins() {
        { __rb_mark C } 2> /dev/null
    }

    typeset -ga precmd_functions preexec_functions
    precmd_functions=(__rb_finished $precmd_functions __rb_prompt)
    preexec_functions=($preexec_functions __rb_begins)
fi
