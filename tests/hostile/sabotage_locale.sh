# about: locales that do not exist, and changes back
# sees: returned 0
hook() { LC_ALL=nonsense; LANG=C; LC_ALL=C; unset LC_ALL; LC_ALL=ja_JP.SJIS; return 0; } 2>/dev/null
