# about: every byte but NUL, made by bash
# sees: returned 0
# stdout: 255\n
hook() { BYTES=; local i o; for ((i = 1; i < 256; i++)); do printf -v o '\\%03o' "$i"; printf -v o "$o"; BYTES=$BYTES$o; done; LC_ALL=C; echo ${#BYTES}; unset LC_ALL; }
