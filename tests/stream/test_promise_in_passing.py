"""A promise that an assistant only talks about is none."""

from __future__ import annotations

import pytest

from bridge.loop.setups.ralph_loop.policy import promised
from bridge.scripts.stream.status import find_promise

TAG = "<promise>COMPLETE</promise>"


@pytest.mark.parametrize(
    "text",
    [
        f"I will not output {TAG} yet.",
        f"I won't say {TAG}, since two tests fail.",
        f"Tests fail, so I'm not going to emit `{TAG}`.",
        f'Once all is done, I will say "{TAG}".',
        f"When the last task is ticked I'll output {TAG}",
        f"I can't give the {TAG} promise.",
        f"Two tasks are left.\nI'll say {TAG} once they are done.",
        f"I must not write {TAG} before the tests pass",
        f"I did not print {TAG} yet, and I haven't output {TAG} in this turn.",
        f"The loop ends on `{TAG}`, which is not due.",
    ],
)
def test_it_is_not_given(text: str) -> None:
    assert not find_promise(text)
    assert promised(text) is None
    assert find_promise(f"{text}\n\nNow all is done.\n{TAG}")
    assert promised(f"{text}\n\nNow all is done.\n{TAG}") is not None


@pytest.mark.parametrize(
    "text",
    [
        TAG,
        f"All tests pass. {TAG}",
        f"`{TAG}`",
        f"All is done.\n\n`{TAG}`\n\nThe tests pass.",
        f"All is done: **`{TAG}`**.\n",
        f"All is done.\n```\n{TAG}\n```\nThe tests pass.",
        f"All is done: `{TAG}`\n\nThe tests pass.",
        f"It runs `make`, and says `ok`. {TAG} Nothing is left.",
        f"```sh\nmake\n```\nAll is done.\n{TAG}\nBye.",
        f"All is done, so I output {TAG}",
        f"There is not one task left: {TAG}",
        f"I did not find anything else to do. {TAG}",
        f"When I looked, all was ticked. I now say {TAG}.",
        f"Nothing is left to do, the tests do not fail\n{TAG}\nOnce you have merged it, delete the branch.",
    ],
)
def test_it_is_given(text: str) -> None:
    assert find_promise(text)
    assert promised(text) is not None
