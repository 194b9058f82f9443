# What ralph-bridge loads into zsh: announcements of prompts and commands (OSC 633), each ending in a nonce.

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
    typeset -g __rb_nonce='{nonce}' __rb_status=0
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
        builtin print -rn -- $'\e]633;'"$1;$__rb_nonce"$'\a'
    }

    # What xtrace says of these isn't the command's output: hence their redirections.
    __rb_finished() {
        { __rb_status=$?; __rb_mark "D;$__rb_status"; return $__rb_status } 2> /dev/null
    }

    __rb_prompt() { {
        if [[ "$PS1" != *"$__rb_nonce"* ]]; then
            PS1="$PS1%{"$'\e]633;B;'"$__rb_nonce"$'\a'"%}"
        fi
        if [[ "$PS2" != *"$__rb_nonce"* ]]; then
            PS2="$PS2%{"$'\e]633;K;'"$__rb_nonce"$'\a'"%}"
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
