"""The literals that every match of a pattern contains: what an index of substrings is asked for.

A pattern is read into nodes. A node is either exact, a small set of strings of which it matches one, or it
only has needs: alternatives, each a set of literals that all occur in whatever matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import regex

from context1.search.pattern import compile_pattern, too_broad

Needs = tuple[frozenset[str], ...]

MAX_EXACT = 16
"""Strings a node may be exact with: `[ab][cd]` has four."""

MAX_ALTERNATIVES = 64
"""More than these never come from needs that must hold together; the less telling one is dropped."""

MAX_COPIES = 8
"""Of `x{100}` so many are written out."""

_SYNTAX = re.compile(
    r"""(?xs)
    (?P<quoted> \\Q (?P<inside>.*?) (?:\\E|\Z) )
  | (?P<code> \\x\{(?P<wide>[0-9A-Fa-f]+)\} | \\x(?P<hex>[0-9A-Fa-f]{2}) | \\(?P<octal>[0-7]{1,3}) )
  | (?P<some> \\[pP]\{[^}]*\} | \\[pP]. | \\[dDsSwWC] | \. )
  | (?P<edge> \\[AbBz] | [\^$] )
  | \\(?P<escaped> . )
  | \[ (?P<set> \^?\]? (?: \[:\^?\w+:\] | \\. | [^\]\\] )* ) \]
  | (?P<flags> \(\?[a-zA-Z-]*\) )
  | (?P<open> \( (?: \?P?<[^>]*> | \?[a-zA-Z-]*: )? )
  | (?P<close> \) )
  | (?P<bar> \| )
  | (?P<repeat> (?: [*+?] | \{(?P<least>0|[1-9][0-9]{0,8})(?P<more>,(?:0|[1-9][0-9]{0,8})?)?\} ) \?? )
  | (?P<plain> . )
    """
)
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SMALL_SET = regex.compile(r"(?s)(?:\\(?P<c>[^0-9A-Za-z])|(?P<c>[^\^\\\[\]-])){1,16}")
_LONG = regex.compile(r"(?s).{3}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー]{2}")


def required_literals(pattern: str) -> list[frozenset[str]]:
    """Alternatives: a text matches the RE2 `pattern` only if all literals of one of them occur in it.

    Literals are as `fold_case` writes them, and occur in `fold_case(text)`; so a case-insensitive pattern has
    them too. Each has at least 3 characters, or 2 that are Chinese, Japanese or Korean: shorter ones are not
    worth looking up. `(?i)Acme (Corp|Inc)` gives `[{"acme corp"}, {"acme inc"}]`, `due .* 2023` gives
    `[{"due ", " 2023"}]`; `[set()]`, as of `a+`, says that any text may match.

    Raises `PatternError`: as `compile_pattern`, or "too broad" where a match need not contain any literal.
    """
    compile_pattern(pattern)
    needs = _read(pattern).needs
    if frozenset() in needs:
        raise too_broad()
    wanted = _simplest(_worth_looking_up(literals) for literals in needs)
    return [literals for literals in wanted if not any(_implies(literals, other) for other in wanted)]


def fold_case(text: str) -> str:
    """Each character by itself as its simple case folding: equal wherever RE2 ignores case, same length."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


class _Folding(dict[int, int]):
    def __missing__(self, code: int) -> int:
        character = chr(code)
        folded = next((one for one in (character.casefold(), character.lower()) if len(one) == 1), character)
        self[code] = ord(folded)
        return self[code]


# Three pairs of characters differ in nothing, and their folding has two or three characters.
_FOLDING = _Folding({0x1FD3: 0x390, 0x1FE3: 0x3B0, 0xFB05: 0xFB06})


@dataclass(frozen=True, slots=True)
class _Node:
    exact: frozenset[str] | None
    rest: Needs = ()
    """Of a node that is not exact."""

    @property
    def needs(self) -> Needs:
        if self.exact is None:
            return self.rest
        return tuple(frozenset([one] if one else []) for one in sorted(self.exact))


_ANYTHING = _Node(None, (frozenset(),))
_NOTHING = _Node(frozenset([""]))


def _read(pattern: str) -> _Node:
    # Without recursion: a thousand brackets may be open.
    outer: list[tuple[list[_Node], list[_Node]]] = []
    branches: list[_Node] = []
    row: list[_Node] = []
    for token in _SYNTAX.finditer(pattern):
        match token.lastgroup:
            case "open":
                outer.append((branches, row))
                branches, row = [], []
            case "bar":
                branches.append(_row(row))
                row = []
            case "close":
                inner = _either([*branches, _row(row)])
                branches, row = outer.pop()
                row.append(inner)
            case "repeat":
                row[-1:] = _repeated(row[-1], token)
            case "quoted":
                row += [_character(one) for one in token["inside"]]
            case "code":
                row.append(_character(_decoded(token)))
            case "escaped":
                row.append(_character(_CONTROLS.get(token["escaped"], token["escaped"])))
            case "plain":
                row.append(_character(token["plain"]))
            case "set":
                small = _SMALL_SET.fullmatch(token["set"])
                row.append(_Node(frozenset(map(fold_case, small.captures("c")))) if small else _ANYTHING)
            case "some":
                row.append(_ANYTHING)
            case "edge":
                row.append(_NOTHING)
    return _either([*branches, _row(row)])


def _character(one: str) -> _Node:
    return _Node(frozenset([fold_case(one)]))


def _decoded(token: re.Match[str]) -> str:
    return chr(int(token["octal"], 8) if token["octal"] else int(token["wide"] or token["hex"], 16))


def _repeated(node: _Node, token: re.Match[str]) -> list[_Node]:
    """As many copies as there are at least, then anything where there may be more."""
    operator = token["repeat"][0]
    if operator == "?":
        return [_either([_NOTHING, node])]
    least = int(token["least"]) if operator == "{" else int(operator == "+")
    exactly = operator == "{" and token["more"] is None and least <= MAX_COPIES
    return [node] * min(least, MAX_COPIES) + ([] if exactly else [_ANYTHING])


def _row(nodes: Sequence[_Node]) -> _Node:
    """Of nodes one after the other: neighbours that are exact join to longer strings."""
    needs: Needs = (frozenset(),)
    joined: frozenset[str] = frozenset([""])
    whole = True
    for node in nodes:
        if node.exact is not None and len(joined) * len(node.exact) <= MAX_EXACT:
            joined = frozenset(left + right for left, right in product(joined, node.exact))
            continue
        whole = False
        needs = _both(needs, _Node(joined).needs)
        joined = node.exact if node.exact is not None else frozenset([""])
        needs = _both(needs, node.needs) if node.exact is None else needs
    return _Node(joined) if whole else _Node(None, _both(needs, _Node(joined).needs))


def _either(nodes: Sequence[_Node]) -> _Node:
    exact = [node.exact for node in nodes if node.exact is not None]
    strings: frozenset[str] = frozenset().union(*exact)
    if len(exact) == len(nodes) and len(strings) <= MAX_EXACT:
        return _Node(strings)
    return _Node(None, _simplest(need for node in nodes for need in node.needs))


def _both(left: Needs, right: Needs) -> Needs:
    if len(left) * len(right) > MAX_ALTERNATIVES:
        return max(left, right, key=_telling)
    return _simplest(one | other for one, other in product(left, right))


def _simplest(needs: Iterable[frozenset[str]]) -> Needs:
    distinct = tuple(dict.fromkeys(needs))
    return (frozenset(),) if frozenset() in distinct else distinct


def _telling(needs: Needs) -> int:
    return min(max(map(len, literals), default=0) for literals in needs)


def _worth_looking_up(literals: frozenset[str]) -> frozenset[str]:
    long = [one for one in literals if _LONG.search(one)]
    return frozenset(one for one in long if not any(one != other and one in other for other in long))


def _implies(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if a text with all of `one` has all of a different `other` too."""
    return one != other and all(any(part in literal for literal in one) for part in other)
