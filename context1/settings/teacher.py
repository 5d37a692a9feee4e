"""The slips of the scripted teacher."""

from __future__ import annotations

from pydantic import Field

from context1.settings.section import Section


class TeacherSettings(Section):
    """The scripted teacher that knows the gold chunks and is deliberately imperfect."""

    stop_early: float = Field(0.12, ge=0, le=1)
    """Chance a turn of answering before the last hop was found."""
    bad_query: float = Field(0.12, ge=0, le=1)
    """Chance a search of dropping words of the query."""
    double_query: float = Field(0.3, ge=0, le=1)
    """Chance of a second search in the same turn."""
    skip_prune: float = Field(0.5, ge=0, le=1)
    """Chance a turn of not pruning although there is junk; a tenth of it over the soft threshold."""
    keep_junk: float = Field(0.3, ge=0, le=1)
    """Chance a junk chunk of escaping a prune."""
    prune_gold: float = Field(0.03, ge=0, le=1)
    """Chance a gold chunk of being pruned by mistake."""
    answer_junk: float = Field(0.35, ge=0, le=1)
    """Chance a visible junk chunk of entering the answer."""
    drop_gold: float = Field(0.06, ge=0, le=1)
    """Chance a found gold chunk of missing from the answer."""
    tries: int = Field(3, ge=1)
    """Searches for one hop before the teacher gives up."""
    note_words: int = Field(18, ge=1)
    """Longest note about a piece of evidence, in words."""
    seed: int = 0
    """Seed of the slips."""
