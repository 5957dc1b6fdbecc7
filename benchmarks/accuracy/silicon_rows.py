"""Published measurements of whole engines (aiconfigurator, `silicon_version_matched.csv`) as cases to predict.

Times are milliseconds. The column `silicon_data_source` holds how many clients ask at once; each sends its next request
when its last one is done, all prompts are `isl` tokens long and all outputs `osl`. TTFT is not judged: in these rows it
grows with the length of the output.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.h100_rows import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CASES = DATA / "e2e" / "aiconfigurator" / "silicon_version_matched.csv"
CLIENTS = re.compile(r"silicon_concurrency=(\d+)")
FIXED = re.compile(r"aic-auto-gap-analysis")
"""Rows that the makers of the tables measured themselves: all lengths alike. The others are public runs of InferenceX,
which draws lengths evenly between 0.8 times the named ones and those (its RANDOM_RANGE_RATIO)."""
SHORTEST = 0.8
QUANTISED = re.compile(r"fp8|fp4|int8|int4|awq|gptq|w4a|w8a", re.IGNORECASE)
"""In a checkpoint's name. The makers' own rows name the checkpoint that was served: one of 16 bits stays so, whatever
the columns of their own prediction say. Rows of InferenceX name the model alone, and their columns its format."""


@dataclass(frozen=True)
class Served:
    """What serves: one engine version on one system with one model, as the rows name them."""

    system: str
    backend: str
    version: str
    model: str
    gemm: str
    moe: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """System, engine, version, model."""
        return (*self.engine, self.model)

    @property
    def engine(self) -> tuple[str, str, str]:
        """System, engine, version."""
        return self.system, self.backend, self.version

    @property
    def name(self) -> str:
        """What figures call it."""
        model = re.sub(r"[^a-z0-9]+", "_", self.model.rpartition("/")[2].lower())
        kind = f"_{self.moe or self.gemm}" if "fp4" in (self.moe or self.gemm) else ""
        version = re.sub(r"[^a-z0-9]+", "_", self.version.lower())
        return f"{self.system.partition('_')[0]}_{self.backend}_{version}_{model}{kind}"

    @property
    def told(self) -> str:
        """For people."""
        return f"{self.system}, {self.backend} {self.version}, {self.model}" + (
            f" ({self.moe})" if "fp4" in self.moe else ""
        )


@dataclass(frozen=True)
class Split:
    """Ranks: `tp` share each replica, `dp` replicas share the experts, `ep` ranks split them by expert."""

    tp: int
    pp: int = 1
    dp: int = 1
    ep: int = 1


@dataclass(frozen=True)
class Case:
    """One measured run: tokens of each prompt and output, clients at once, and its mean TPOT.

    Attributes:
        served: By what.
        split: On which ranks.
        prompt_tokens: Of the longest prompt.
        output_tokens: Of the longest output.
        clients: At once.
        tpot_ms: Measured.
        shortest: Length of the shortest request over that of the longest.
        untold: Why its columns do not say what ran, empty where they do.
    """

    served: Served
    split: Split
    prompt_tokens: int
    output_tokens: int
    clients: int
    tpot_ms: float
    shortest: float = 1.0
    untold: str = ""

    @property
    def tp(self) -> int:
        """Ranks of a replica."""
        return self.split.tp

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others of its table."""
        split = self.split
        more = () if (split.pp, split.dp, split.ep) == (1, 1, 1) else (split.pp, split.dp, split.ep)
        return (split.tp, self.prompt_tokens, self.output_tokens, self.clients, *more)


def cases(path: Path = CASES) -> list[Case]:
    """All rows, in the order of the file; one that cannot be told says why in `untold`.

    Raises:
        Absent: The file is not there.
    """
    if not path.is_file():
        raise Absent(f"{path.name} is not beside the checkout")
    with path.open(encoding="utf-8", newline="") as file:
        return [case_of(row) for row in csv.DictReader(file)]


def case_of(row: Mapping[str, str]) -> Case:
    """A row of the file."""
    clients, own = CLIENTS.search(row["silicon_data_source"]), bool(FIXED.search(row["silicon_data_source"]))
    plain = own and not QUANTISED.search(row["model_path"])
    served = Served(
        system=row["system"],
        backend=row["backend"],
        version=row["backend_version"],
        model=row["model_path"],
        gemm="" if plain else row["gemm_quant_mode"],
        moe="" if plain else row["moe_quant_mode"],
    )
    split, untold = split_of(row)
    return Case(
        served=served,
        split=split,
        prompt_tokens=int(row["isl"]),
        output_tokens=int(row["osl"]),
        clients=int(clients[1] if clients else row["batch_size"]),
        tpot_ms=float(row["silicon_tpot_ms"]),
        shortest=1.0 if own else SHORTEST,
        untold=untold or ("" if row["mode"] == "agg" else "prefill and decode on pools of their own"),
    )


def split_of(row: Mapping[str, str]) -> tuple[Split, str]:
    """How the ranks share the model, and why a row's columns do not say so, empty where they do.

    `moe_tp_size` x `moe_ep_size` ranks hold the experts, `tp_size` x `attention_dp_size` the rest: both products are
    the ranks of a stage. Some rows write one size in both columns of the experts and its square as `tp_size`: the same
    run stands in other rows with that size alone, so these are read as it.
    """
    tp, pp, dp, moe_tp, moe_ep = (
        int(row[name] or 1)
        for name in ("tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")
    )
    if moe_tp == moe_ep > 1 and tp == moe_tp * moe_ep and row["backend"] == "sglang" and dp == 1:
        return Split(tp=moe_ep, pp=pp, ep=moe_ep), ""
    split = Split(tp=tp, pp=pp, dp=dp, ep=moe_ep)
    if moe_tp * moe_ep not in {1, tp * dp}:
        return split, f"{moe_tp} x {moe_ep} ranks hold the experts, {tp} x {dp} the rest"
    if dp > 1 and moe_ep % tp:
        return split, f"experts over {moe_ep} ranks of {dp} replicas of {tp}: no whole number of replicas"
    return split, ""
