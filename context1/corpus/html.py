"""HTML to a title and plain text: what a reader sees, a line for each block and table row."""

from __future__ import annotations

import regex
from lxml import etree, html

_HIDDEN_TAGS = {"script", "style", "noscript", "template", "head", "svg", "object", "iframe", "ix:header"}
PARAGRAPHS = """
    p div section article header footer aside main nav ul ol dl table blockquote pre form figure hr
    h1 h2 h3 h4 h5 h6
"""
LINES = "br li tr dt dd option caption"
CELLS = "td th"

_CELLS = frozenset(CELLS.split())
_BEFORE = dict.fromkeys(PARAGRAPHS.split(), "\n\n")
_AFTER = _BEFORE | dict.fromkeys(LINES.split(), "\n") | dict.fromkeys(_CELLS, " ")
_DECLARATION = regex.compile(r"^\s*<\?xml[^>]*\?>")
_BLANKS = regex.compile(r"\s+")
_NOT_SHOWN = regex.compile(r"display\s*:\s*none", flags=regex.IGNORECASE)


def html_text(source: str) -> tuple[str, str]:
    """(title, text); the title is empty if the page has none. Broken markup is read as browsers do."""
    source = _DECLARATION.sub("", source.replace("\0", " "))
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(source.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:  # nothing but markup
        return "", ""
    title = root.findtext(".//title") or root.findtext(".//h1") or ""
    pieces: list[str] = []
    hidden = cells = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        start = event == "start"
        cells += (1 if start else -1) * (element.tag in _CELLS)
        mark = (_BEFORE if start else _AFTER).get(element.tag, "")
        # A block inside a cell breaks no line, so that a table row stays one line.
        mark = " " if mark and cells else mark
        if start:
            hidden += _is_hidden(element)
            pieces += [] if hidden else [mark, _plain(element.text, element.tag)]
        else:
            pieces += [] if hidden else [mark]
            hidden -= _is_hidden(element)
            pieces += [] if hidden else [_plain(element.tail, "")]
    return title, "".join(pieces)


def _is_hidden(element: etree._Element) -> bool:
    return (
        element.tag in _HIDDEN_TAGS
        or "hidden" in element.attrib
        or bool(_NOT_SHOWN.search(element.get("style", "")))
    )


def _plain(text: str | None, tag: str) -> str:
    return (text or "") if tag == "pre" else _BLANKS.sub(" ", text or "")
