__c() { [ "$__busy" = 1 ] && return; __busy=1; printf '\033]633;C\007'; }
__p() { local s=$?; printf '\033]633;D;%s\007\033]633;P;Cwd=%s\007\033]633;A\007' "$s" "$PWD"; __busy=; }
PROMPT_COMMAND=__p
__busy=1
trap '[[ $BASH_COMMAND == __p ]] || __c' DEBUG
