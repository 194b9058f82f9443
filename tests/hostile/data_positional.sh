# about: hostile arguments stay arguments
# call: hook $(touch${IFS}/nonexistent) ;id `id` -n -- * \n
# sees: returned 7
hook() { return $#; }
