"""Mail to text: the headers that people search by, then the body."""

from __future__ import annotations

import mailbox
from collections.abc import Iterator
from email import message_from_binary_file, policy
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

from context1.corpus.html import html_text

HEADERS = ("From", "To", "Cc", "Date")

MALFORMED = (AttributeError, IndexError, KeyError, LookupError, TypeError, UnicodeError, ValueError)
"""What the standard library's parser raises, now and then, on broken headers and unknown charsets."""


def read_mbox(path: Path) -> Iterator[tuple[str, str] | None]:
    """(subject, text) of each message of an mbox file; None for one that cannot be parsed."""
    box = mailbox.mbox(path, create=False)
    for key in box.iterkeys():
        try:
            yield _mail_text(_parse(box.get_bytes(key)))
        except MALFORMED:
            yield None
    box.close()


def _parse(raw: bytes) -> EmailMessage:
    return message_from_binary_file(BytesIO(raw), policy=policy.default)  # as a file: line ends become \n


def _mail_text(message: EmailMessage) -> tuple[str, str]:
    lines = [f"{name}: {message[name]}" for name in HEADERS if message[name]]
    return str(message["Subject"] or "(no subject)"), "\n".join([*lines, "", _body(message)])


def _body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except MALFORMED:
        payload = part.get_payload(decode=True)
        text = payload.decode("latin-1") if isinstance(payload, bytes) else ""
    return html_text(text)[1] if part.get_content_type() == "text/html" else text
