"""Answers about workspace code, in the process that may import it: facts as plain data, no verdicts."""

from __future__ import annotations

from skills.subject import serve
from skills.wire_kernel.subject_kernel import describe
from skills.wire_kernel.subject_profiling import facade, profiled

if __name__ == "__main__":
    serve({"profiled": profiled, "facade": facade, "kernel": describe})
