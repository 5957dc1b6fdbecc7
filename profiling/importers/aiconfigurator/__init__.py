"""`aiconfigurator`: measured GPU kernel times of the package aiconfigurator-core, or of tables laid out like its own.

Tables of dense layers, attention (latent too), gated recurrences, experts, their exchanges and all-reduce become rows
of the store, under the true device name, with backends `<framework>-<version>:<kernel>`. Times become milliseconds;
sizes of messages are elements there and bytes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.importers.aiconfigurator.run import RowStore
    from profiling.importers.report import ImportReport

HELP = """Import measured GPU kernel times from the installed package aiconfigurator-core.

Names a system (h100_sxm ...) and a stack (vllm, sglang, trtllm). The version defaults to the one that the package
calls current; nccl tables have versions of their own. Everything is read and checked before a row is written, and a
second import changes nothing.

Not imported: tables without a kind here (sparse attention ...) and those of wide expert parallelism that hold whole
modules.
"""


def _options() -> tuple[click.Option, ...]:
    return (
        click.Option(["--system"], metavar="NAME", help="System of the package: h100_sxm, a100_sxm ..."),
        click.Option(["--stack"], metavar="NAME", help="Serving stack: vllm, sglang or trtllm."),
        click.Option(
            ["--version"], metavar="V", help="Version of the stack; default: the package's current one."
        ),
        click.Option(["--nccl-version"], metavar="V", help="Version of the nccl table; default: the newest."),
        click.Option(
            ["--table"],
            multiple=True,
            metavar="NAME",
            help="Only this table (repeatable): gemm, context_attention, generation_attention, context_mla, "
            "generation_mla, mla_bmm, gdn_scan, gdn_step, gdn_conv, mamba2_conv, moe, moe_a2a_dispatch, "
            "moe_a2a_combine, deepep_ll_dispatch, deepep_ll_combine, custom_allreduce, nccl, nccl_all_gather, "
            "nccl_reduce_scatter.",
        ),
        click.Option(
            ["--systems-dir"], metavar="PATH", help="A folder of systems in place of the package's."
        ),
        click.Option(
            ["--data-dir"],
            metavar="PATH",
            help="Your own folder of tables (parquet, or comma-separated .csv, .txt, .gz) in place of a system.",
        ),
        click.Option(["--device-name"], metavar="NAME", help="Device of rows that name none."),
    )


@dataclass(frozen=True)
class AiconfiguratorImporter:
    """The importer as the command line finds it. Heavy modules are imported when it runs."""

    name: str = "aiconfigurator"
    help: str = HELP

    @property
    def options(self) -> Sequence[click.Option]:
        """Its options; their names are the keywords of `run`."""
        return _options()

    def run(
        self,
        store: RowStore,
        *,
        system: str | None = None,
        stack: str | None = None,
        version: str | None = None,
        nccl_version: str | None = None,
        table: Sequence[str] = (),
        systems_dir: str | None = None,
        data_dir: str | None = None,
        device_name: str | None = None,
    ) -> ImportReport:
        """Import into the store.

        Raises:
            ServingSimError: For anything that is not there, is damaged or holds no usable row; nothing is written.
        """
        from profiling.importers.aiconfigurator.plan import Choice  # noqa: PLC0415 - numpy only when it runs
        from profiling.importers.aiconfigurator.run import run_import  # noqa: PLC0415 - as above

        choice = Choice(
            system=system or "",
            stack=stack or "",
            version=version or "",
            nccl_version=nccl_version or "",
            table=tuple(table),
            device_name=device_name or "",
        )
        return run_import(store, choice, systems_dir=systems_dir, data_dir=data_dir)


IMPORTER = AiconfiguratorImporter()
