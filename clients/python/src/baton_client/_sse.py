from __future__ import annotations

import codecs
import re

_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")


class EventStreamParser:
    """Parses a stream of server-sent events (HTML standard, section 9.2)."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, chunk: bytes) -> list[str]:
        """Returns the `data` of each message that this chunk completes."""
        # `splitlines` would also split at characters that JSON texts may contain, such as U+2028.
        text = "\n".join(_LINE_END.split(self._rest + self._decoder.decode(chunk)))
        *blocks, self._rest = text.split("\n\n")
        return [data for data in map(_data_of, blocks) if data is not None]


def _data_of(block: str) -> str | None:
    lines = [line for line in block.split("\n") if line == "data" or line.startswith("data:")]
    return "\n".join(re.sub("^data:? ?", "", line) for line in lines) if lines else None
