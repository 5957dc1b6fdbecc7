"""The rows of a whole model on one rank of a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model.rows.layer import layer_rows
from skills.split_model.rows.outside import before, behind

if TYPE_CHECKING:
    from skills.split_model.draft import Draft
    from skills.split_model.rows.writer import Site


def model_rows(site: Site) -> list[Draft]:
    """One layer of each class and what is outside the loop, in the order of the forward."""
    return [
        *before(site),
        *(
            row
            for layer in site.rank.layers
            for row in layer_rows(site.at(layer.name, layer.count, layer.indices[0]), layer)
        ),
        *behind(site),
    ]
