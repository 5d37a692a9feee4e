"""Short ids derived from a hash: they look alike and reveal nothing of what they name."""

from __future__ import annotations

import hashlib
from collections.abc import Container

SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnpqrstvwxyz" for vowel in "aeiou"]
NUMBERS = [f"{number:02d}" for number in range(100)]


def digest(*parts: str) -> bytes:
    """32 bytes over the parts and their borders."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.digest()


def short_id(groups: int, *parts: str, taken: Container[str] = ()) -> str:
    """`groups` groups, consonant and vowel by turns with two digits: 3 give `ba48du`, 5 give `ba48du91ke`.

    A taken id is avoided by hashing again with a salt.
    """
    for salt in range(10_000):
        value = int.from_bytes(digest(*parts, *([str(salt)] if salt else [])), "little")
        found = ""
        for group in range(groups):
            kind = NUMBERS if group % 2 else SYLLABLES
            value, rest = divmod(value, len(kind))
            found += kind[rest]
        if found not in taken:
            return found
    raise ValueError(f"ids of {groups} groups are used up; raise corpus.id_groups")
