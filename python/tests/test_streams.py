"""Accuracy over the collection of streams (tests/support/streams.rs), of which streams.json has three panes with 200 events."""

import collections
import json
from pathlib import Path

import numpy as np
import pytest
import roughly
from conftest import sampled

STREAMS = json.loads(Path(__file__).with_name("streams.json").read_text())
SEED = bytes(range(16))
#: Unix seconds.
START = 1_700_000_000
#: The k of the streams.
K = 5
#: A stream has a top k if the item of rank k has this many events: fewer are as many as those of other items.
MIN_COUNT = 10


@pytest.mark.parametrize("name", sampled(STREAMS, 4))
def test_figures_hold_over_the_collection_of_streams(name):
    """The list of a window, and the share of the items whose error is at most that which accuracy() returns. Streams and seeds are
    fixed."""
    top = roughly.TopK(K, 320, window=3000, panes=3, seed=SEED)
    counts = roughly.CountMinSketch(width=60, depth=3)
    events = collections.Counter()
    for pane, items in enumerate(STREAMS[name]):
        items = [str(item) for item in items]
        top.update(items, at=START + pane)
        counts.update(items)
        events.update(items)
    ranked = sorted(events.values(), reverse=True)
    rank = min(K, len(ranked))
    if ranked[rank - 1] >= MIN_COUNT:
        found = [item.decode() for item, _ in top.items(at=START + 2)]
        recall = sum(events[item] >= ranked[rank - 1] for item in found) / rank
        # 0.6 with rotating panes if items that are in no list of a pane have no names.
        assert recall >= 0.8, recall
        assert 0 <= top.accuracy(at=START + 2)["agreement"] <= 1
    largest = counts.accuracy()["error p99"]
    errors = counts.query(list(events)) - np.fromiter(events.values(), int)
    covered = np.mean(errors <= largest)
    assert covered >= 0.95, (largest, covered)
