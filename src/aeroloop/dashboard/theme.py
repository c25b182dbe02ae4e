"""Colours, defined once. Text colours have a contrast of at least 4.5 to 1 on their background, in light and in
dark."""

from __future__ import annotations

from typing import Literal

Severity = Literal["info", "ok", "warn", "bad"]

TRACES = ("#1f77b4", "#d1620b", "#2a8f3c", "#c43a3a", "#8a5cc4", "#8c6a4f", "#c95fa6", "#3f9fa8")
"""Curves, in order: visible on white and on nearly black."""

PRIMARY = "#1f5fa8"
OK, WARN, BAD, IDLE = "#1e7d34", "#9a6200", "#b3261e", "#5f6b76"
"""Backgrounds for white text."""

COLOURS: dict[Severity, str] = {"info": IDLE, "ok": OK, "warn": WARN, "bad": BAD}

AXIS = "#8a949e"
"""Axes and labels in charts: legible on both backgrounds."""

CSS = """
:root { --al-ok:#1e7d34; --al-warn:#9a6200; --al-bad:#b3261e; --al-soft:#5f6b76; --al-card:#ffffff; --al-ground:#f3f5f7;
        --al-line:#d5dae0; --al-text:#15191d; --al-accent:#1f5fa8; }
.body--dark { --al-ok:#6fd08c; --al-warn:#f2b84b; --al-bad:#ff8a80; --al-soft:#a6b0ba; --al-card:#1b2127;
        --al-ground:#11161a; --al-line:#333c45; --al-text:#e8ecef; --al-accent:#7db8f5; }
body { background:var(--al-ground); color:var(--al-text); }
.nicegui-content { padding:0; }
.al-page { width:100%; max-width:1600px; margin:0 auto; padding:12px; gap:12px; }
.al-card { background:var(--al-card); border:1px solid var(--al-line); border-radius:8px; padding:12px; width:100%;
        box-shadow:none; gap:8px; color:var(--al-text); min-width:0; }
.al-soft { color:var(--al-soft); }
.al-ok { color:var(--al-ok); } .al-warn { color:var(--al-warn); } .al-bad { color:var(--al-bad); }
.al-num { font-variant-numeric:tabular-nums; }
.al-head { background:var(--al-card) !important; color:var(--al-text) !important;
        border-bottom:1px solid var(--al-line); padding:0; gap:0;
        flex-direction:column !important; flex-wrap:nowrap !important; align-items:stretch !important; }
.al-tabs { display:flex; overflow-x:auto; width:100%; padding:0 6px; scrollbar-width:none; }
.al-tab { display:flex; gap:6px; align-items:center; padding:6px 12px; color:var(--al-soft) !important; font-weight:500;
        text-decoration:none !important; border-bottom:3px solid transparent; white-space:nowrap; }
.al-tab[aria-current] { color:var(--al-accent) !important; border-color:var(--al-accent); }
.al-link { color:var(--al-accent) !important; font-weight:500; }
.al-table { background:transparent; color:inherit; } .al-table td, .al-table th { border-color:var(--al-line); }
.al-charts { display:grid; gap:12px; grid-template-columns:repeat(auto-fit, minmax(min(100%, 560px), 1fr)); }
.body--dark .text-primary { color:var(--al-accent) !important; }
.al-picker { min-width:12em; max-width:62vw; }
.al-bar { width:100%; padding:4px 12px; gap:8px; align-items:center; flex-wrap:wrap; }
.al-alert { width:100%; padding:2px 12px; font-size:13px; border-top:1px solid var(--al-line); min-height:24px;
        overflow:hidden; text-overflow:ellipsis; white-space:nowrap; }
.al-chip { padding:1px 8px; border-radius:10px; font-size:12px; font-weight:600; color:#fff; white-space:nowrap; }
.al-chip--info { background:#5f6b76; } .al-chip--ok { background:#1e7d34; }
.al-chip--warn { background:#9a6200; } .al-chip--bad { background:#b3261e; }
@media (max-width:599px) { .al-page { padding:6px; gap:6px; } .al-card { padding:8px; } .al-wide { display:none; } }
"""
