"""Which keys a query sees, against the definition one query at a time."""

from __future__ import annotations

import pytest

from servingsim.bounds.visible import Sight


def keys_of(position: int, width: int, *, chunked: bool) -> range:
    """Positions that the query at a position sees."""
    if not width:
        return range(position + 1)
    first = position // width * width if chunked else max(position + 1 - width, 0)
    return range(first, position + 1)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 8, 50])
def test_pairs_and_cached_keys_are_those_of_the_definition(width: int, chunked: bool) -> None:  # noqa: FBT001
    """Defect: a chunk counted as a window (twice the pairs), or the boundary of either off by one."""
    sight = Sight(width, chunked)
    for prefix in range(12):
        for q in range(1, 12):
            seen = [keys_of(prefix + i, width, chunked=chunked) for i in range(q)]
            assert sight.prefill_pairs([(q, prefix, True)]) == sum(map(len, seen)), (prefix, q)
            cached = {key for keys in seen for key in keys if key < prefix}
            assert sight.prefill_cached([(q, prefix, True)]) == len(cached), (prefix, q)
    for kv_len in range(1, 30):
        seen = [keys_of(kv_len - 1, width, chunked=chunked)]
        assert sight.decode_pairs([kv_len]) == len(seen[0])
        assert sight.decode_cached([kv_len]) == len(seen[0]) - 1
