# about: a DEBUG trap that exits, set by the script's last command
# call: true
# sees: returned 0
trap 'exit 7' DEBUG
