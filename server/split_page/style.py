"""The look of the page: one style sheet inside it, for light and dark screens and for paper."""

from __future__ import annotations

COLOURS = {
    "attention": ("#3566c8", "#7aa2f7"),
    "experts": ("#7d44c4", "#bb9af7"),
    "recurrence": ("#0a7f7c", "#4fd1c5"),
    "linear": ("#b7610f", "#f0a35e"),
    "norm": ("#55802a", "#9ece6a"),
    "communication": ("#b32d52", "#f7768e"),
    "elementwise": ("#64748b", "#94a3b8"),
    "other": ("#3f3f46", "#d4d4d8"),
    "plumbing": ("#b8bec6", "#4b5563"),
    "unplaced": ("#d4a72c", "#d4a72c"),
}
"""Fill of each nature of launch: on light ground, on dark. Every use has its name and share beside it."""


def style_sheet() -> str:
    """The style sheet, with the colours in."""
    light = "".join(f"--{name}:{pair[0]};" for name, pair in COLOURS.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in COLOURS.items())
    fills = "".join(f".n-{name}{{background:var(--{name})}}" for name in COLOURS)
    return f":root{{{light}{LIGHT}}}@media (prefers-color-scheme:dark){{:root{{{dark}{DARK}}}}}{fills}{RULES}"


LIGHT = (
    "--ground:#fbfbfa;--card:#fff;--ink:#1c1e21;--soft:#5b626b;--line:#e3e5e8;"
    "--good:#1a7f37;--bad:#b42318;--open:#8a5a00"
)
DARK = (
    "--ground:#14161a;--card:#1c1f25;--ink:#e7e9ec;--soft:#9aa3ad;--line:#2d3239;"
    "--good:#56d364;--bad:#ff7b72;--open:#e3b341"
)
RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1360px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}h2{font-size:18px;margin:40px 0 12px}
p{margin:0 0 10px}.soft,figcaption,small{color:var(--soft)}code,.num{font-family:ui-monospace,monospace;font-size:13px}
code{display:block;margin-top:3px;overflow-wrap:anywhere;color:var(--soft)}
.beside{display:grid;grid-template-columns:minmax(0,1.15fr) minmax(0,1fr);gap:24px;align-items:start}
@media (max-width:820px){.beside{grid-template-columns:minmax(0,1fr)}}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;margin:20px 0}
.card,.block{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.card b{display:block;font-size:20px}.card span{color:var(--soft);font-size:13px}
.pill{display:inline-block;border:1px solid currentColor;border-radius:99px;padding:0 9px}
.pill{font-size:12px;white-space:nowrap}
.pass,.reuse{color:var(--good)}.fail,.new_kernel{color:var(--bad)}
.unverified,.needs_decision,.fold{color:var(--open)}.elementwise{color:var(--soft)}
.flow{display:flex;flex-direction:column;align-items:stretch}
.flow .arrow{height:16px;border-left:2px solid var(--line);margin-left:50%}
.block header{display:flex;justify-content:space-between;gap:12px;font-weight:600}
.block h3{font-size:12px;font-weight:600;color:var(--soft);margin:10px 0 0}
.block ul{list-style:none;margin:4px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:6px}
.block li{border-left:4px solid var(--line);padding:1px 8px;background:var(--ground);border-radius:4px;font-size:13px}
.bar{display:flex;height:26px;border-radius:6px;overflow:hidden;gap:2px;margin:4px 0}.bar i{display:block;min-width:2px}
figure{margin:0 0 20px}figure>b{font-size:14px}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;margin:2px 0 0;padding:0;list-style:none}
.legend i,.mini i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:10px;background:var(--card)}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;font-weight:600;color:var(--soft);white-space:nowrap}
th,td{padding:7px 10px;border-bottom:1px solid var(--line);vertical-align:top}tbody tr:last-child td{border-bottom:0}
td.num{text-align:right;white-space:nowrap}
.decisions{table-layout:fixed;min-width:1080px}.decisions td{overflow-wrap:anywhere}
.decisions th{white-space:normal;overflow-wrap:anywhere}
.decisions th:first-child{width:116px}.decisions th:nth-child(n+6){width:124px}
.decisions th:nth-child(2){width:15%}.decisions th:nth-child(3){width:19%}
.evidence{font-size:12.5px;color:var(--soft)}
.mini{display:block;height:6px;border-radius:3px;background:var(--line);margin-top:5px;overflow:hidden}
.mini i{height:6px;border-radius:3px;margin:0;vertical-align:top}
details summary{cursor:pointer;font-size:12.5px;color:var(--soft)}
@media print{body{font-size:11px}.scroll{overflow:visible}}
"""
