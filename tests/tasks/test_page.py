"""An agent reads of an issue what its page shows, and no more."""

from __future__ import annotations

import pytest

from bridge.loop.tasks.foreign_text import quoted, seen

HIDDEN = [
    '[x]: <http://e.example> "HIDDEN"',
    "[x]: http://HIDDEN.example",
    "[x]:\n   http://e.example\n   'HIDDEN\n   HIDDEN'",
    "> [x]: http://e.example (HIDDEN)",
    "- item\n\n  [x]: http://e.example 'HIDDEN'",
    "[^n]: HIDDEN footnote",
    "[^n]: HIDDEN that refers to itself [^n]",
    "<?php HIDDEN ?>",
    "words <?php HIDDEN ?> words",
    "<!DOCTYPE HIDDEN>",
    "words <!X HIDDEN> words",
    "<![CDATA[ HIDDEN ]]>",
    "words <![CDATA[ HIDDEN ]]> words",
    "<!-- HIDDEN",
    "words <!--\nHIDDEN\n-->",
    "| a |\n|---|\n| <!-- HIDDEN --> b |",
    "# Title <!-- HIDDEN -->",
    '[link](http://e.example "HIDDEN")',
    '[link](http://e.example "HID\\"DEN HIDDEN")',
    "![HIDDEN](x.png)",
    '![x](x.png "HIDDEN")',
    "words [](http://e.example/HIDDEN) words",
    "<div hidden>HIDDEN</div>",
    "<div hidden>\n\nHIDDEN\n\n</div>",
    '<span style="display:none">HIDDEN</span>',
    "words <b hidden>HIDDEN</b> words",
    "<script>HIDDEN</script>",
    "<template>\nHIDDEN\n</template>",
    "<p title='HIDDEN'>words</p>",
    "words <a data-x=HIDDEN>words</a>",
    "[//]: # (HIDDEN)",
    "[^n]: HIDDEN\nHIDDEN\n    HIDDEN\n\n    HIDDEN\n\n    ```\n    HIDDEN\n    ```",
    "``` js HIDDEN {HIDDEN}\ncode\n```",
    "```mermaid\ngraph TD %% HIDDEN\n  %% HIDDEN\n accTitle: HIDDEN\n```",
    "<ruby>words<rp>HIDDEN</rp></ruby>",
    r"words $a \phantom{HIDDEN}$ words",
    r"words $`\color{white}{HIDDEN}`$ words",
    "words $$\na % HIDDEN\nb$$",
    "$$\n\\def\\x{HIDDEN}\n$$",
    r"$\text{$a$} \label{HIDDEN}$",
    "- $\\href{HIDDEN}{a}$",
    "| a |\n|---|\n| $\\style{display: none}{HIDDEN}$ |",
    "```math\na \\hphantom{HIDDEN}\n```",
    '```mermaid\ngraph TD\n  HIDDEN["a"] --> B["b"]\n```',
    "```mermaid\ngraph TD\n  A --> B\n  style A fill:#fff,x:HIDDEN\n```",
    "```mermaid\n---\ntitle: x\nHIDDEN: y\n---\ngraph TD\n  A --> B\n```",
    '```mermaid\ngraph TD\n  A --> B\n  click A "HIDDEN"\n```',
    '> ``` geojson\n> {"type": "HIDDEN"}\n> ```',
    '<pre lang="mermaid"><code>\ngraph TD\n HIDDEN["a"]\n</code></pre>',
    "<div>\n$a \\phantom{HIDDEN}$\n</div>",
    "```topojson\nHIDDEN\n```",
    "```STL\nsolid HIDDEN\n```",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_what_a_page_does_not_show_is_not_told(text: str) -> None:
    assert "HIDDEN" not in quoted(f"Before.\n\n{text}\n\nAfter.", "issue #1")


SHOWN = [
    "words `<!-- code -->` words",
    "```html\n<!-- kept -->\n[x]: http://e.example\n```",
    "    <!-- code -->",
    "- one\n  1. two\n     more\n- three",
    "> quoted\n> more",
    "a < b && c > d, *p = &q",
    "see [the docs](http://e.example/a_b)",
    "[^n]: a note\n\n    more of it\n\nA word[^n] of it.",
    "```\n[^n]: code\nmore code\n```",
    "> ~~~~ c++\n> a % b;  %% c\n> ~~~~",
    "```mermaid\ngraph TD\n  A --> B\n```",
    "```mermaid\nflowchart LR\n  A[Start] -->|yes, now| b1{Ready?}\n  b1 -.-> C((End))\n```",
    "```mermaid\nsequenceDiagram\n  Alice->>Bob: Hello, Bob\n  Bob-->>Alice: Hi\n```",
    r"$O(n \log n)$ and $$\sum_{i=1}^{n} \frac{\alpha_i}{\sqrt{2}} \le \text{all of it}$$",
    r"costs $5 in C:\users, and $6; $HOME/x and ${PATH}, 50% of $A and $B",
    "```math\n\\begin{cases} a \\\\ b \\end{cases}\n```",
    "| a | b |\n|---|:-:|\n| c | d |",
    "<https://e.example>",
    "Title\n\n---\n\n**bold** _it_ ~~no~~",
    "\u0928\u092e\u0938\u094d\u0924\u0947 👩‍👩‍👧",
]


@pytest.mark.parametrize("text", SHOWN)
def test_what_it_shows_stays_as_it_was_written(text: str) -> None:
    assert seen(text) == text


def test_the_text_in_elements_that_are_shown_stays() -> None:
    text = "<details><summary>Sum</summary>\n\ninside\n\n</details>\n\nVec<T> <kbd>x</kbd> on\n"
    assert seen(text).split() == ["Sum", "inside", "Vec", "x", "on"]


@pytest.mark.parametrize("code", [0x200B, 0x034F, 0x3164, 0xFE01, 0xE0041, 0x2800, 0x1D173])
def test_characters_without_a_shape_are_left_out(code: int) -> None:
    assert seen(f"a{chr(code)}b") == "ab"
