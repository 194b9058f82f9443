# about: an error after which bash goes on at the top level of its script, whatever eval there is
# sees: returned 1
declare -i NUMBER
hook() { NUMBER='1 +'; echo "not reached $NUMBER"; }
