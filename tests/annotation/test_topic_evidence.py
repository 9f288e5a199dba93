"""What is above a topic, with its distance."""

import pytest

from saber_assets.annotation.topic_evidence import _closure


def test_a_topic_reached_twice_has_its_shortest_distance():
    parents = [set(), {0}, {1}, {0, 2}]
    assert _closure(3, parents) == {0: 1, 1: 2, 2: 1, 3: 0}


@pytest.mark.timeout(120)
def test_deep_chains_are_no_burden():
    parents = [set(), *({number} for number in range(4000))]
    above = [_closure(number, parents) for number in range(3960, 4001)]
    assert above[-1] == {number: 4000 - number for number in range(4001)}
