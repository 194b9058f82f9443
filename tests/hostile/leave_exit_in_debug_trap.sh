# about: a DEBUG trap that exits at the third command
# sees: exited 6 | died
# noisy: yes
hook() { n=0; trap 'n=$((n + 1)); if [[ $n -ge 3 ]]; then trap - DEBUG; exit 6; fi' DEBUG; :; :; :; :; trap - DEBUG; return 1; }
