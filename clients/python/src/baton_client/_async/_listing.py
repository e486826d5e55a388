from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, TypeVar, cast

from .._request import Request
from ..types import Page
from ._http import AsyncHttp

Row = TypeVar("Row")


class AsyncListing(Generic[Row]):
    """A list, newest first. It requests a page only when the caller reads rows of that page."""

    def __init__(self, http: AsyncHttp, path: str, query: Mapping[str, Any]) -> None:
        self._http = http
        self._path = path
        self._query = query

    async def __aiter__(self) -> AsyncIterator[Row]:
        async for page in self.pages():
            for row in page["data"]:
                yield row

    async def pages(self) -> AsyncIterator[Page[Row]]:
        """Yields the list page by page."""
        cursor: str | None = None
        while True:
            request = Request("GET", self._path, {**self._query, "cursor": cursor})
            page = cast("Page[Row]", await self._http.json(request))
            yield page
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def take(self, count: int) -> list[Row]:
        """Returns the first rows, at most `count`."""
        first: list[Row] = []
        if count <= 0:
            return first
        async for row in self:
            first.append(row)
            if len(first) >= count:
                break
        return first
