"""From flags, files and single fields to a deployment and its traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.measuring import local_device
from server.serving.fields import from_file, from_texts, laid_over
from servingsim.errors import ServingSimError
from servingsim.sim.serving.deployment import Deployment
from servingsim.sim.workload.spec import WorkloadSpec
from servingsim.validation import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SCHEDULER_FLAGS = ("policy", "max_num_tokens", "max_num_seqs", "max_model_len", "prefix_caching")
POOL_FLAGS = ("device", "tp", "pp", "ep", "router", "stack_version", "kv_dtype")


@dataclass(frozen=True)
class Asked:
    """What is to be simulated."""

    deployment: Deployment
    workload: WorkloadSpec


def asked(
    flags: Mapping[str, Any], *, deployment: Path | None, workload: Path | None, fields: Sequence[str]
) -> Asked:
    """Files below, flags over them, single fields on top.

    Args:
        flags: By name as the command has them; None was not given.
        deployment: A file with fields of `Deployment`.
        workload: A file with fields of `WorkloadSpec`, or of requests themselves.
        fields: `FIELD=VALUE`; those of the traffic begin with `workload.`.

    Raises:
        ServingSimError: What does not parse, with the field and its limits.
    """
    given = _given(flags)
    own = [text for text in fields if not text.startswith("workload.")]
    traffic = [text.removeprefix("workload.") for text in fields if text.startswith("workload.")]
    wanted = laid_over(_traffic_file(workload), workload_fields(given))
    return Asked(
        asked_deployment(given, deployment=deployment, fields=own),
        parse(WorkloadSpec, laid_over(wanted, from_texts(traffic)), where="workload"),
    )


def asked_deployment(
    flags: Mapping[str, Any], *, deployment: Path | None, fields: Sequence[str]
) -> Deployment:
    """What serves, without its traffic.

    Raises:
        ServingSimError: What does not parse, with the field and its limits.
    """
    given = _given(flags)
    served = laid_over(from_file(deployment), deployment_fields(given, base=deployment is not None))
    return parse(Deployment, laid_over(served, from_texts(fields)), where="deployment")


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Flags that were given; the device at hand by its key."""
    given = {name: value for name, value in flags.items() if value is not None and value is not False}
    if given.get("device") in {"cpu", "cuda"}:
        given["device"] = local_device(given["device"], given.get("threads")).name
    return given


def deployment_fields(given: Mapping[str, Any], *, base: bool) -> dict[str, Any]:
    """Flags as fields of a deployment: one pool, or with `decode_replicas` a prefill and a decode pool.

    Over a file (`base`) they are laid over every pool that they name.
    """
    fields: dict[str, Any] = {
        name: given[name] for name in ("model", "stack", "dtype", "on_missing") if name in given
    }
    pool: dict[str, Any] = {name: given[name] for name in POOL_FLAGS if name in given}
    scheduler = {name: given[name] for name in SCHEDULER_FLAGS if name in given}
    if scheduler:
        pool["scheduler"] = scheduler
    if "replicas" in given:
        pool["replicas"] = given["replicas"]
    if base:
        if "decode_replicas" in given:
            raise ServingSimError(
                "--decode-replicas with a deployment file",
                hint="write the two pools there, or leave the file out",
            )
        return fields | ({"pools": {"0": pool}} if pool else {})
    if "decode_replicas" in given:
        decode = pool | {"name": "decode", "replicas": given["decode_replicas"]}
        return fields | {"pools": [pool | {"name": "prefill"}, decode]}
    return fields | {"pools": [pool]}


def workload_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Flags as fields of a workload."""
    fields: dict[str, Any] = {name: given[name] for name in ("requests", "seed") if name in given}
    arrivals: dict[str, Any] = {}
    if "rate" in given:
        arrivals["rate_per_s"] = given["rate"]
    if "users" in given:
        arrivals |= {"kind": "closed", "size": given["users"]}
    elif "arrivals" in given:
        arrivals["kind"] = given["arrivals"]
    if arrivals:
        fields["arrivals"] = arrivals
    for flag, name in (("input_tokens", "prompt"), ("output_tokens", "output")):
        if flag in given:
            fields[name] = _lengths(flag, given[flag])
    return fields


def _lengths(flag: str, text: str) -> dict[str, Any]:
    """`512`: fixed; `512:0.6`: log-normal of that mean and sigma."""
    mean, _colon, sigma = text.partition(":")
    try:
        return {"mean": int(mean)} | ({"kind": "lognormal", "spread": float(sigma)} if sigma else {})
    except ValueError:
        raise ServingSimError(
            f"{flag} {text!r} is no length",
            known="MEAN tokens, or MEAN:SIGMA of a log-normal, as 512 or 512:0.6",
        ) from None


def _traffic_file(path: Path | None) -> dict[str, Any]:
    """A workload as fields where the file is such an object, else the file as requests."""
    if path is None:
        return {}
    if path.suffix == ".json":
        try:
            data = from_file(path)
        except ServingSimError:
            data = {}
        if data and data.keys() <= WorkloadSpec.model_fields.keys():
            return data
    return {"path": str(path)}
