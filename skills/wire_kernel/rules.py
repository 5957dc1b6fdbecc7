"""The completion criteria of wire_kernel by checkpoint, named as the documents name their rules."""

from __future__ import annotations

HANDOFF = {
    "R.1-name": "KIND is the profiler's kind, its table, its facade stem and the file's stem, spelled alike",
    "R.1-registry": "the profiling registry lists the kind with every backend of the hand-off",
    "R.1-args": "args fields, order and metric family are the profiler's",
    "R.1-dtype": "dtype axes are known, or the kernel is explicitly dtype-agnostic",
    "R.1-sources": "every args field has one source: a Config field or an Input field",
    "R.1-routing": "backend is routing, no field of args, Config or Input",
    "R.1-smoke": "the smoke spec runs through the public command into a scratch database, and the facade reads it",
}
SHAPE = {
    "R.2-fields": "axes are args, the grid names them, and Config and Input fields explain the rest",
    "R.2-reaxis": "query fields and cache axes are told apart: equal, or re-axed by a declared projection",
    "R.2-cache": "the cache exists and reads so many axes",
    "R.2-ceiling": "at most 500 feasible coordinates for one Config, after the mask and before backends",
    "R.2-profile-kind": "another kind's table is read only with identical args, dtype and work",
    "R.2-slot-input": "the Input is one of the closed set of slot inputs",
}
CODE = {
    "R.3-file": "the agreed file defines the kernel and loads",
    "R.3-kind": "the simulator's kind is the profiler's, read from the agreed table",
    "R.3-scope": "nothing changed beside the kernel's file and its tests since the hand-off",
    "R.3-fields": "Config and Input fields, axes, grid and cache stand as agreed",
    "R.3-payload": "every payload is the profiler's args, field for field, and backend",
    "R.3-dtype": "dtype tags are the profiler's, and a backend runs the Config's dtype",
    "R.3-ceiling": "at most 500 feasible coordinates stand, for the Config given and for its defaults",
    "R.3-split": "no grid is split over kinds, files or a Config field to stay below the ceiling",
    "R.3-mask": "the mask hides no reachable cell and keeps none that cannot be measured",
    "R.3-inverse": "projection and inverse agree on every grid coordinate and with the payload",
    "R.3-work": "FLOPs and bytes are the profiler's",
}
RUNS = {
    "R.3-tests": "the focused tests pass, each naming its defect and asserting something about the kernel",
    "R.3-tests-bite": "the tests refuse a kernel with another payload, projection or inverse",
    "R.3-grid-query": "kernel-query grid answers with input_fields and grid_axes, without a GPU",
}
STAGES = {"R.1": HANDOFF, "R.2": SHAPE, "R.3": CODE, "R.3 runs": RUNS}
MAX_FEASIBLE = 500
