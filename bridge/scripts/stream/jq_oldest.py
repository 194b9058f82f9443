"""Which jq a program needs: the oldest that people have is 1.6, which long-lived systems still ship."""

from __future__ import annotations

import functools
import re
from typing import Any

from bridge.errors import FilterNotCompiled
from bridge.scripts.stream.jq import STRING_OR_COMMENT, Filter

_BUILTINS = frozenset(
    re.findall(
        r"\S+",
        """
IN/1 IN/2 INDEX/1 INDEX/2 JOIN/2 JOIN/3 JOIN/4 acos/0 acosh/0 add/0 all/0 all/1 all/2 any/0 any/1 any/2 arrays/0
ascii_downcase/0 ascii_upcase/0 asin/0 asinh/0 atan/0 atan2/2 atanh/0 booleans/0 bsearch/1 builtins/0 capture/1
capture/2 cbrt/0 ceil/0 combinations/0 combinations/1 contains/1 copysign/2 cos/0 cosh/0 debug/0 del/1
delpaths/1 drem/2 empty/0 endswith/1 env/0 erf/0 erfc/0 error/0 error/1 exp/0 exp10/0 exp2/0 explode/0 expm1/0
fabs/0 fdim/2 finites/0 first/0 first/1 flatten/0 flatten/1 floor/0 fma/3 fmax/2 fmin/2 fmod/2 format/1 frexp/0
from_entries/0 fromdate/0 fromdateiso8601/0 fromjson/0 fromstream/1 gamma/0 get_jq_origin/0 get_prog_origin/0
get_search_list/0 getpath/1 gmtime/0 group_by/1 gsub/2 gsub/3 halt/0 halt_error/0 halt_error/1 has/1 hypot/2
implode/0 in/1 index/1 indices/1 infinite/0 input/0 input_filename/0 input_line_number/0 inputs/0 inside/1
isempty/1 isfinite/0 isinfinite/0 isnan/0 isnormal/0 iterables/0 j0/0 j1/0 jn/2 join/1 keys/0 keys_unsorted/0
last/0 last/1 ldexp/2 leaf_paths/0 length/0 lgamma/0 lgamma_r/0 limit/2 localtime/0 log/0 log10/0 log1p/0 log2/0
logb/0 ltrimstr/1 map/1 map_values/1 match/1 match/2 max/0 max_by/1 min/0 min_by/1 mktime/0 modf/0 modulemeta/0
nan/0 nearbyint/0 nextafter/2 nexttoward/2 normals/0 not/0 now/0 nth/1 nth/2 nulls/0 numbers/0 objects/0 path/1
paths/0 paths/1 pow/2 pow10/0 range/1 range/2 range/3 recurse/0 recurse/1 recurse/2 recurse_down/0 remainder/2
repeat/1 reverse/0 rindex/1 rint/0 round/0 rtrimstr/1 scalars/0 scalars_or_empty/0 scalb/2 scalbln/2 scan/1
select/1 setpath/2 significand/0 sin/0 sinh/0 sort/0 sort_by/1 split/1 split/2 splits/1 splits/2 sqrt/0
startswith/1 stderr/0 strflocaltime/1 strftime/1 strings/0 strptime/1 sub/2 sub/3 tan/0 tanh/0 test/1 test/2
tgamma/0 to_entries/0 todate/0 todateiso8601/0 tojson/0 tonumber/0 tostream/0 tostring/0 transpose/0 trunc/0
truncate_stream/1 type/0 unique/0 unique_by/1 until/2 utf8bytelength/0 values/0 walk/1 while/2 with_entries/1
y0/0 y1/0 yn/2
""",
    )
)
"""Of jq 1.6, as its `builtins` lists them. What a newer engine has besides is newer, whatever that will be."""

_WORD = r"(?<![\w.$@])(?:%s)(?!\w)"
_BRANCH = re.compile(_WORD % "if|else|end" + r"(?!\s*:)")
_RENAMED = "rb_renamed_"
_MISSING = re.compile(_RENAMED + r"(\w+/\d+) is not defined")


def newer_than_1_6(program: str) -> str | None:
    """What in a program that compiles is newer than jq 1.6; None if nothing is.

    A word is a call of a built-in where the program no longer compiles when the word is another one: not where it
    is a key, a text, or a function of the program's own.
    """
    bare = STRING_OR_COMMENT.sub('""', program)
    branches: list[bool] = []  # of each `if` that is open: whether its `else` was seen
    for word in _BRANCH.findall(bare):
        if word == "if":
            branches.append(False)
        elif branches and word == "else":
            branches[-1] = True
        elif branches and not branches.pop():
            return "`if` without `else`"
    if re.search(r"[\w\])}\"?]\.\[", bare):
        return "`.a.[...]` for `.a[...]`"
    renamed = _newer_words().sub(lambda word: _RENAMED + word[0], program)
    try:
        if renamed != program:
            Filter(renamed)
    except FilterNotCompiled as error:
        called = [name for name in _MISSING.findall(error.complaint) if name not in _BUILTINS]
        return f"`{called[0]}`" if called else None
    return None


@functools.cache
def _newer_words() -> re.Pattern[str]:
    import jq

    found: Any = jq.compile("builtins").input_value(None).first()
    return re.compile(_WORD % "|".join(sorted({each.partition("/")[0] for each in found if each not in _BUILTINS})))
