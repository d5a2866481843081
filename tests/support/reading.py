"""Reads a page as a browser would: balance of tags, and the text between them."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Reading(HTMLParser):
    """Collects text and resources, and fails on a tag that closes what it did not open."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    @property
    def text(self) -> str:
        """All text that is shown, with single, breakable spaces."""
        return " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing, line {self.getpos()[0]}"
        assert self.open.pop() == tag, f"</{tag}> closes another tag, line {self.getpos()[0]}"

    def handle_data(self, data: str) -> None:
        if self.open and not {"style", "script", "title"} & {*self.open}:
            self.texts.append(data)
