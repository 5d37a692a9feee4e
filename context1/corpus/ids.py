"""Short ids derived from a hash: they look alike and reveal nothing of what they name."""

from __future__ import annotations

import hashlib
from collections.abc import Container
from itertools import product

SYLLABLES = ["".join(letters) for letters in product("bcdfghjklmnprstvwxyz", "aeiou", "lnrv")]
GROUPS = (SYLLABLES, [one.capitalize() for one in SYLLABLES], [f"{number:02d}" for number in range(100)])
"""What the groups of an id are drawn from, by turns; no piece belongs to two of them."""


def digest(*parts: str) -> bytes:
    """32 bytes over the parts and their borders."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.digest()


def short_id(groups: int, *parts: str, taken: Container[str] = ()) -> str:
    """`groups` groups, by turns a syllable, a capitalised one and two digits: 4 give `balDun48ker`.

    A taken id is avoided by hashing again with a salt.
    """
    for salt in range(10_000):
        value = int.from_bytes(digest(*parts, *([str(salt)] if salt else [])), "little")
        found = ""
        for group in range(groups):
            kind = GROUPS[group % len(GROUPS)]
            value, rest = divmod(value, len(kind))
            found += kind[rest]
        if found not in taken:
            return found
    raise ValueError(f"ids of {groups} groups are used up; raise corpus.id_groups")
