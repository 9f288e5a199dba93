"""The data card: a head that parses, and texts that can't break out of their cells."""

from __future__ import annotations

import yaml

from saber_assets.publishing.card import CardFacts, render_card


def head_of(card: str) -> dict:
    return yaml.safe_load(card[3:].split("\n---", 1)[0])


def test_head_and_tables() -> None:
    facts = CardFacts(
        title="Über | <Mathe>: 'quoted'\nsecond line",
        documents=12_345,
        licences={"MIT": 12_345},
        languages=["de", "en"],
        data={"queries": 1_000, "a|b": "<i>x</i>\ny"},
        sections={"Seeds": ["As drawn.", (("of", "value"), [("pools", 0.25)])]},
        limits=["One\nlimit."],
        loading="\nload()\n",
    )
    card = render_card(facts)
    head = head_of(card)
    assert head["license"] == "mit"
    assert head["language"] == ["de", "en"]
    assert head["size_categories"] == ["10K<n<100K"]
    assert head["pretty_name"] == facts.title
    assert "| queries | 1,000 |" in card
    assert "| a\\|b | &lt;i>x&lt;/i> y |" in card
    assert "| pools | 0.25 |" in card
    assert "```python\nload()\n```" in card
    assert "* One limit." in card
    assert "\n# Über | <Mathe>: 'quoted' second line\n" in card
    assert render_card(facts) == card


def test_unknown_and_mixed_licences() -> None:
    none = render_card(CardFacts("T", 5))
    assert head_of(none)["license"] == "other"
    assert "not known to this benchmark" in none
    mixed = render_card(CardFacts("T", 5, licences={"": 1, "MIT": 4}))
    assert head_of(mixed)["license"] == "other"
    assert "| not stated | 1 |" in mixed
