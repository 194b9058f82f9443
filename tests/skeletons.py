"""The smallest driver and the smallest agent, as the features ship them, with more or less in them."""

from __future__ import annotations

import re

from bridge.base import resources


def minimal_driver(more: str = "", *, without: str = "") -> str:
    return _changed("my-platform.sh", more, without)


def minimal_agent(more: str = "", *, without: str = "") -> str:
    return _changed("my-agent.sh", more, without)


def _changed(name: str, more: str, without: str) -> str:
    text = (resources.shipped("features") / "data" / name).read_text(encoding="utf-8")
    if without:
        text = re.sub(rf"^{without}\(\) \{{\n.*?^\}}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return f"{text}\n{more}\n" if more else text
