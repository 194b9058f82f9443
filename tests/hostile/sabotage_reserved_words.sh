# about: aliases of reserved words, for whatever the bridge evaluates while the script's options hold
# sees: returned 3
shopt -s expand_aliases
hook() { return 3; }
alias case='echo C' if='echo I' while='echo W' for='echo F' do='echo D' '{=echo B' '}=x' '[[=echo T' then=x fi=x esac=x done=x in=x '!=echo' time=echo function=echo
