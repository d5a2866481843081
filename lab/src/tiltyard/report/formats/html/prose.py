"""Text for a page."""


def prose(sentence: str) -> str:
    """A sentence that does not break between a number and its percent sign."""
    return sentence.replace(" %", "\N{NO-BREAK SPACE}%")
