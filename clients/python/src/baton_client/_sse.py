from __future__ import annotations

import codecs
import re

# `splitlines` would also split at characters that JSON texts may contain, such as U+2028.
_LINE_END = re.compile(r"\r\n|\n|\r")


class EventStreamParser:
    """
    Parses a stream of server-sent events (HTML standard, section 9.2).

    It searches only the new text of each chunk, so that the time for a long message in many chunks is linear.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        """The parts of the unfinished line."""
        self._data: list[str] = []
        """The data lines of the unfinished message."""
        self._ended_with_cr = False

    def feed(self, chunk: bytes) -> list[str]:
        """Returns the `data` of each message that this chunk completes."""
        text = self._decoder.decode(chunk)
        if not text:
            return []
        # The CR has already ended the line if a CR and its LF arrive in two chunks.
        is_rest_of_line_end = self._ended_with_cr and text.startswith("\n")
        self._ended_with_cr = text.endswith("\r")
        *ends, rest = _LINE_END.split(text[1:] if is_rest_of_line_end else text)
        messages: list[str] = []
        for end in ends:
            line = "".join([*self._parts, end])
            self._parts.clear()
            if line == "data" or line.startswith("data:"):
                self._data.append(re.sub("^data:? ?", "", line))
            elif line == "" and self._data:
                messages.append("\n".join(self._data))
                self._data.clear()
        if rest:
            self._parts.append(rest)
        return messages
