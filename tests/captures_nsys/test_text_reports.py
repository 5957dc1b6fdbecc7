"""What `nsys stats` prints, in every form that it and the tools around it give."""

from __future__ import annotations

import codecs
import gzip
from typing import TYPE_CHECKING, Any

import pytest

from profiling.captures.contract import KernelLaunch, Summary
from profiling.captures.readers import nsys_csv
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    ReadText = Callable[[str | bytes], Any]

PLAIN = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,6000000,2000,3000.0,3000.0,2900,3100,1.0,"void gemm<float, (int)4>(T1, T2)"
25.0,2000000,1000,2000.0,2000.0,1900,2100,1.0,norm_kernel
"""
SAID = [Summary("void gemm<float, (int)4>(T1, T2)", 2000, 6_000_000), Summary("norm_kernel", 1000, 2_000_000)]
THOUSANDS = PLAIN.replace("6000000,2000,", '"6,000,000","2,000",').replace(
    "2000000,1000", '"2,000,000","1,000"'
)
PREAMBLE = f"""Generating SQLite file /tmp/a.sqlite from /tmp/a.nsys-rep
Processing [/tmp/a.sqlite] with [/opt/reports/cuda_gpu_kern_sum.py]...

 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

{PLAIN}
SKIPPED: /tmp/a.sqlite does not contain NV Tools Extension (NVTX) data.
"""
CONCATENATED = f""" ** CUDA API Summary (cuda_api_sum):
Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
99.0,77000000,3000,1.0,1.0,1,1,1.0,cudaLaunchKernel

{PLAIN}
 ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):
Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
100.0,5,1,5,5,5,5,0,[CUDA memcpy Host-to-Device]
"""
GRIDS = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name
75.0,6000000,2000,3000.0,3000.0,2900,3100,1.0, 896    1    1, 128    1    1,"void gemm<float, (int)4>(T1, T2)"
25.0,2000000,1000,2000.0,2000.0,1900,2100,1.0,   1    1    1, 128    1    1,norm_kernel
"""
GUI = """Time\tTotal Time\tInstances\tAvg\tMed\tMin\tMax\tStdDev\tName
75.00%\t6.000 ms\t2000\t3.000 μs\t3.000 μs\t2.900 μs\t3.100 μs\t1.000 ns\tvoid gemm<float, (int)4>(T1, T2)
25.00%\t2000.000 μs\t1000\t2.000 μs\t2.000 μs\t1.900 μs\t2.100 μs\t1.000 ns\tnorm_kernel
"""
FIXED = """
 Time (%)  Total Time (ns)  Instances  Avg (ns)  Name
 --------  ---------------  ---------  --------  --------------------------------
     75.0        6,000,000      2,000   3,000.0  void gemm<float, (int)4>(T1, T2)
     25.0        2,000,000      1,000   2,000.0  norm_kernel

"""
BOX = """+----------+-----------------+-----------+----------------------------------+
| Time (%) | Total Time (ns) | Instances |               Name               |
+----------+-----------------+-----------+----------------------------------+
|     75.0 |       6,000,000 |     2,000 | void gemm<float, (int)4>(T1, T2) |
|     25.0 |       2,000,000 |     1,000 | norm_kernel                      |
+----------+-----------------+-----------+----------------------------------+
"""
EXPLAINER = """kernel_name,device_id,call_count,total_time_ms,total_time_ns
"void gemm<float, (int)4>(T1, T2)",0,2000,6.0,6000000
norm_kernel,0,1000,2.0,2000000
"""
OTHER_UNIT = (
    PLAIN.replace("Total Time (ns)", "Total Time (ms)").replace("6000000", "6.0").replace("2000000", "2.0")
)
UNQUOTED = PLAIN.replace('"', "")
FORMS = {
    "plain": PLAIN,
    "thousands": THOUSANDS,
    "preamble": PREAMBLE,
    "concatenated": CONCATENATED,
    "by grid": GRIDS,
    "copied from the interface": GUI,
    "fixed widths": FIXED,
    "drawn box": BOX,
    "other tools": EXPLAINER,
    "milliseconds": OTHER_UNIT,
    "Windows line ends": PLAIN.replace("\n", "\r\n"),
    "semicolons": PLAIN.replace(",", ";").replace("float; (int)4>(T1; T2", "float, (int)4>(T1, T2"),
    "names with commas unquoted": UNQUOTED,
    "no line end at the end": PLAIN.rstrip("\n"),
    "twice": PLAIN + "\n" + GRIDS,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form: str, read_text: ReadText) -> None:
    """Defect: microseconds read as nanoseconds, a thousand calls read as one, API calls summed as kernels."""
    assert read_text(FORMS[form]).summaries == SAID


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + PLAIN.encode(),
        codecs.BOM_UTF16_LE + PLAIN.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + GUI.encode("utf-16-be"),
    ],
)
def test_every_shell_s_encoding_is_read(data: bytes, read_text: ReadText) -> None:
    """Defect: the first column's name lost behind a byte order mark, PowerShell's output refused."""
    assert read_text(data).summaries == SAID


def test_a_compressed_report_is_read_and_a_broken_one_refused(tmp_path: Path) -> None:
    """Defect: a traceback of the decompressor, or the first half summed as the whole."""
    path = tmp_path / "report.csv.gz"
    packed = gzip.compress(PLAIN.encode())
    for damaged in (packed[:-9], packed[:30] + b"\xff\xff\xff" + packed[33:]):
        path.write_bytes(damaged)
        with pytest.raises(ServingSimError, match="compression is broken"):
            nsys_csv.read(path, None)  # type: ignore[arg-type]


def test_the_device_summary_gives_its_kernels_only(read_text: ReadText) -> None:
    text = """Time (%),Total Time (ns),Instances,Avg (ns),Category,Operation
90,6000000,2000,1,CUDA_KERNEL,"void gemm<float, (int)4>(T1, T2)"
5,2000000,1000,1,CUDA_KERNEL,norm_kernel
5,900,1,1,MEMORY_OPER,[CUDA memcpy Host-to-Device]
"""
    assert read_text(text).summaries == SAID


def test_ranges_that_name_a_phase_give_it_and_enclosing_ones_are_left_out(read_text: ReadText) -> None:
    """Defect: a kernel counted once for its step and again for every range around it."""
    header = "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Kernel Name\n"
    lines = [
        (":prefill_step13_tokens2048", 7, 700),
        (":decode_step14_tokens49", 3, 300),
        (":execute_context_1(64)_generation_8(8)", 2, 200),
        (":whole_run", 12, 1200),
        (":prefill then decode", 12, 1200),
    ]
    text = header + "".join(f"{name},PushPop,1,1,1,{calls},{ns},1,k\n" for name, calls, ns in lines)
    assert read_text(text).summaries == [
        Summary("k", 7, 700, "prefill"),
        Summary("k", 3, 300, "decode"),
        Summary("k", 2, 200, "mixed"),
    ]


def test_a_trace_gives_each_execution(read_text: ReadText) -> None:
    text = """Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Bytes (MB),Device,Ctx,Strm,Name
1000,20,5,4,1,1,128,1,1,,NVIDIA H100 (2),1,7,"gemm<a, b>"
1100,30,6,,,,,,,1.5,NVIDIA H100 (2),1,7,[CUDA memcpy Host-to-Device]
"""
    kept = read_text(text)
    assert kept.launches == [
        KernelLaunch("gemm<a, b>", 1000, 20, device=2, stream=7, correlation=5, grid=(4, 1, 1, 128, 1, 1)),
        KernelLaunch(
            "[CUDA memcpy Host-to-Device]", 1100, 30, device=2, stream=7, kind="memcpy", correlation=6
        ),
    ]
    assert not kept.summaries


def test_names_that_were_cut_are_counted(read_text: ReadText) -> None:
    """Defect: two kernels taken for one because a table cut their names alike."""
    assert read_text(PLAIN.replace("norm_kernel", "norm_ker…")).facts == {"cut_names": "1"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.replace("2000000,1000", "2000000,many"), r"line 3: no calls in 'many'"),
        (PLAIN.replace("2000000,1000", "-5,1000"), r"line 3: no total_ns in '-5'"),
        (PLAIN.replace("2000000,1000", '"1,5",1000'), r"line 3: no total_ns in '1,5'"),
        (PLAIN.replace("2000000,1000", "2000000,10.5"), r"line 3: no calls"),
        (PLAIN.replace("norm_kernel", ""), r"line 3: no name"),
        (PLAIN[:-40], r"line 3 has \d of 9 cells.*cut off"),
        (PLAIN.split("norm", maxsplit=1)[0].replace('T2)"', "T2)"), r"cut off or damaged"),
        (PLAIN.replace("Total Time (ns)", "Total Time"), r"line 2: no total_ns"),
        (PLAIN.splitlines()[0], r"no line after it"),
        (PLAIN + "\n" + PLAIN.replace("6000000", "6000001"), r"2 summaries"),
        (CONCATENATED.split("\n\n", maxsplit=1)[0], r"no header"),
        (PLAIN + "\0", r"zero byte"),
        (PLAIN + "x" * 2_000_000, r"characters"),
        (PLAIN.replace("6000000", "9" * 30), r"line 2: no total_ns"),
    ],
)
def test_a_damaged_report_is_refused_with_its_line(text: str, said: str, read_text: ReadText) -> None:
    """Defect: a line left out or guessed, so that shares are of a part."""
    with pytest.raises(ServingSimError, match=said) as caught:
        read_text(text)
    assert caught.value.code in {"E_INPUT", "E_LIMIT"}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "kernels", "calls", "total_ns"),
    [
        ("a100_vllm_kernels_nsys-llm-explainer", 30, 56_626, 456_886_720),
        ("rtx5090_hf_deepseek-ocr_decode_cuda_gpu_kern_sum", 46, 78_016, 179_072_697),
        ("rtx5090_hf_deepseek-ocr_prefill_cuda_gpu_kern_sum", 97, 6_660, 65_691_733),
    ],
)
def test_real_reports_keep_every_call_and_nanosecond(
    name: str, kernels: int, calls: int, total_ns: int, shared_data: Path, read_text: ReadText
) -> None:
    found = read_text((shared_data / "captures" / "nsys_csv" / f"{name}.csv").read_bytes()).summaries
    assert (len(found), sum(each.calls for each in found), sum(each.total_ns for each in found)) == (
        kernels, calls, total_ns,
    )  # fmt: skip
