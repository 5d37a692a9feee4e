# ruff: noqa: E501
"""What the parity tests ask: chunks in many scripts, words that must find them, patterns good and bad."""

from __future__ import annotations

from tests.integration.search.conftest import make_chunk

SCRIPTS = [
    make_chunk("acme", "Acme Höldings S.A. paid 1,234.5 million euros for a 45-kg e-mail server in 2023."),
    make_chunk("boats", "The K2-18 expedition, led by José Ñandú, sailed 300km to Reykjavík on 2021-07-04."),
    make_chunk("tokyo", "東京都庁は新宿区にあります。昨日、京都大学の研究者が発表しました。", title="日本語"),
    make_chunk("beijing", "北京大学的研究人员昨天宣布了一项关于量子计算的新发现。", title="中文"),
    make_chunk("seoul", "서울특별시는 대한민국의 수도이다.", title="한국어"),
    make_chunk(
        "law", "Section 10-K requires O’Neil's well-known co-operation; see §12(b), www.sec.gov/edgar."
    ),
    make_chunk("wide", "Ｆｕｌｌｗｉｄｔｈ ﬁles №９ cost ¥5000 each."),
    make_chunk("turkish", "İstanbul ve Iğdır arasında Straße GROSS ΣΊΣΥΦΟΣ ærø"),
]
HOSTILE = [
    "\0",
    "x" * 300_000,
    "\u202e\u200fabc",
    "",
    "<|end|><|call|>",
    "</Document>",
    "same",
    "same",
    '{"a":1}\\',
]

WORDS_AND_CHUNKS = [
    ("acme holdings", "acme"), ("HÖLDINGS", "acme"), ("1234.5", "acme"), ("1,234.5", "acme"),
    ("45kg", "acme"), ("45 kg", "acme"), ("45-kg", "acme"), ("email", "acme"), ("e-mail", "acme"),
    ("servers", "acme"), ("k2-18", "boats"), ("K218", "boats"), ("jose nandu", "boats"), ("Ñandú", "boats"),
    ("reykjavik", "boats"), ("300 km", "boats"), ("300km", "boats"), ("2021-07-04", "boats"),
    ("東京", "tokyo"), ("京都大学", "tokyo"), ("研究者", "tokyo"), ("北京大学", "beijing"), ("量子计算", "beijing"),
    ("서울특별시", "seoul"), ("수도", "seoul"), ("10-k", "law"), ("10K", "law"), ("oneil", "law"),
    ("O'Neil", "law"), ("wellknown", "law"), ("well known", "law"), ("cooperation", "law"),
    ("www.sec.gov", "law"), ("edgar", "law"), ("fullwidth", "wide"), ("files", "wide"), ("istanbul", "turkish"),
    ("strasse", "turkish"), ("Straße", "turkish"), ("groß", "turkish"), ("Σίσυφος", "turkish"),
]  # fmt: skip

PATTERNS = [
    "balo denu", "(?i)BALO DENU", "balo (denu|giri|firi)", "^balo", "umi$", r"\bK2-18\b", r"1,234\.5", "[Aa]cme",
    "東京", "京都", "量子.算", "(?i)straße", "(?i)σίσυφος", "no such text", r"balo.*denu.*firi", r"<\|end\|>",
    "balo|denu|firi|giri|lova", r"\d{4}-07", "(?i)höldings", "same", "abc", "xxx", r"mumi\s+balo", "S\\.A\\.",
    "(a+)+$", "ab", "東", "a|balo", "(?i)É", "zq",
    "\ud800", "balo\udfff", r"balo\x{D800}", "[\ud800b]alo|umi", "balo.\udfff?",
]  # fmt: skip
BAD_PATTERNS = [
    r"^(\w+\s?)*$", "", "x*", r"(.)\1", "(?=balo)balo", "(?<!x)balo", "(", "[a", "*",
    "balo" * 300, r"(?P<n>balo)(?P=n)", r"\d+", "balo|x?",
]  # fmt: skip

HOSTILE_QUERIES = [
    "", " ", "\0", "…", "\ud800", "a" * 1_000_000, "* OR _exists_:id", '{"match_all": {}}', "<|end|>", "' \" \\",
    "balo " * 3_000, " ".join(f"w{n}" for n in range(5_000)), "𝒷𝒶𝓁𝑜", "e" + "\u0301" * 1_000,
]  # fmt: skip
NO_NAMES = ["", " ", "\0", "\ud800", "a\udfff", "nothing", "a" * 1_000, "*", "_all", "..", "a/b?c#d"]
"""No chunk or document has one of them as its id."""
