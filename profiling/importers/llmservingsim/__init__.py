"""`llmservingsim`: layer profiles of LLMServingSim (casys-kaist/LLMServingSim), a GPU's times of one model's layers.

Dense layers, experts, the head and attention of a model on a tensor-parallel rank become rows of the store,
microseconds to milliseconds, under the device that the profile names, with backends `vllm-<version>:layer`. Attention
is one launch over a prefill chunk and decodes beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.importers.llmservingsim.run import RowStore
    from profiling.importers.report import ImportReport

HELP = """Import layer profiles of LLMServingSim: measured GPU times of one model's layers in vLLM.

Reads every profile below the folder: meta.yaml, and beside it tp1, tp2 ... with dense.csv, attention.csv,
per_sequence.csv and, for experts, moe.csv. The files name layers, not shapes: the model's config.json says those.
Everything is read and checked before a row is written, and a second import changes nothing.
"""


@dataclass(frozen=True)
class LlmservingsimImporter:
    """The importer as the command line finds it. Heavy modules are imported when it runs."""

    name: str = "llmservingsim"
    help: str = HELP

    @property
    def options(self) -> Sequence[click.Option]:
        """Its options; their names are the keywords of `run`."""
        return (
            click.Option(["--folder"], required=True, metavar="PATH", help="Folder with the profiles."),
            click.Option(
                ["--config"],
                multiple=True,
                required=True,
                metavar="PATH",
                help="The profiled model's config.json (repeatable: each profile takes the one that fits).",
            ),
            click.Option(
                ["--device-name"], metavar="NAME", help="Device of the rows, in place of the profile's own."
            ),
        )

    def run(
        self, store: RowStore, *, folder: str, config: Sequence[str], device_name: str | None = None
    ) -> ImportReport:
        """Import into the store.

        Raises:
            ServingSimError: For a folder without profiles, a config that fits none, a file that is damaged; nothing is
                written.
        """
        from profiling.importers.llmservingsim.run import run_import  # noqa: PLC0415 - numpy only when it runs

        return run_import(store, folder, config, device_name or "")


IMPORTER = LlmservingsimImporter()
