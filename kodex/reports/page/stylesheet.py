"""The look of the page: system fonts, two colour schemes, one column on a phone, paper."""

STYLESHEET = """
:root { color-scheme: light dark;
  --page: #f5f6f7; --surface: #ffffff; --ink: #1e2932; --soft: #56636f; --line: #e1e5e9;
  --accent: #226a88; --accent-soft: #dcebf1; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #12171b; --surface: #1a2127; --ink: #e6ebef; --soft: #a0adb8; --line: #2d373f;
  --accent: #7cc3e0; --accent-soft: #203842; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3rem; padding-bottom: 0.5rem; }
.kicker { color: var(--accent); font-weight: 600; font-size: 0.85rem; letter-spacing: 0.04em;
  margin: 0 0 0.5rem; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.6rem, 4.4vw, 2.5rem); line-height: 1.2; font-weight: 650; margin: 0;
  letter-spacing: -0.015em; text-wrap: balance; overflow-wrap: anywhere; }
.lead { color: var(--soft); font-size: 1.08rem; margin: 0.75rem 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; font-weight: 620; margin: 2.75rem 0 0.35rem; letter-spacing: -0.01em; }
h3 { font-size: 1rem; font-weight: 620; margin: 1.6rem 0 0; }
h2 + p { margin-top: 0; }
p { max-width: 46rem; }
section > p { color: var(--soft); margin: 0 0 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(12.5rem, 1fr));
  gap: 0.9rem; margin: 1.6rem 0 0; padding: 0; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 12px;
  padding: 0.95rem 1.1rem; margin: 0; }
.card dt { color: var(--soft); font-size: 0.85rem; }
.card dd { margin: 0; }
.card .value { font-size: 1.75rem; font-weight: 620; letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums; line-height: 1.3; }
.card .note { color: var(--soft); font-size: 0.82rem; line-height: 1.4; }
.card.main { background: var(--accent-soft); border-color: transparent; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr));
  gap: 0.9rem; align-items: start; }
figure { margin: 0; background: var(--surface); border: 1px solid var(--line);
  border-radius: 12px; padding: 0.9rem 0.9rem 1rem; min-width: 0; }
figure img { display: block; width: 100%; height: auto; max-width: 34rem; margin: 0 auto; }
video { display: block; max-width: 100%; max-height: 85vh; height: auto; margin: 0 auto;
  border-radius: 8px; }
figure .scroll { border: 0; border-radius: 0; margin: 0.3rem 0 0; }
figure th, figure td { padding: 0.34rem 0.6rem; }
figure th { white-space: normal; vertical-align: bottom; }
figure h3 { margin: 0.2rem 0.6rem 0; }
figcaption { color: var(--soft); font-size: 0.9rem; line-height: 1.45; margin: 0.7rem 0.25rem 0; }
/* Pictures are drawn on white. Turned inside out and laid as light on the dark surface, the
   white vanishes and colours keep their hue. */
@media screen and (prefers-color-scheme: dark) {
  figure img { filter: invert(1) hue-rotate(180deg) brightness(1.1); mix-blend-mode: screen; } }
.scroll { overflow-x: auto; background: var(--surface); border: 1px solid var(--line);
  border-radius: 12px; margin: 0.9rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.5rem 0.9rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
main > section > .scroll td:last-child { white-space: normal; min-width: 9rem; }
tbody tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-weight: 560; }
code, pre { font: 0.86em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--surface); border: 1px solid var(--line); border-radius: 12px;
  padding: 0.8rem 1rem; overflow-x: auto; margin: 0.6rem 0; }
.commands { margin: 0.9rem 0 0; }
.commands p { color: var(--soft); font-size: 0.9rem; margin: 0 0 -0.3rem; }
code.command { display: block; user-select: all; -webkit-user-select: all; cursor: copy; }
.absent { border-left: 3px solid var(--line); padding-left: 0.9rem; }
footer { color: var(--soft); font-size: 0.85rem; padding-top: 2.5rem; padding-bottom: 3rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 34rem) {
  header { padding-top: 1.75rem; } main, header, footer { padding-left: 0.9rem;
  padding-right: 0.9rem; } .cards { grid-template-columns: 1fr 1fr; gap: 0.6rem; }
  .card { padding: 0.75rem 0.85rem; } .card .value { font-size: 1.4rem; }
  figure { padding: 0.6rem 0.5rem 0.8rem; } th, td { padding: 0.45rem 0.6rem; }
  figure th, figure td { padding: 0.34rem 0.45rem; } pre { white-space: pre-wrap;
  overflow-wrap: anywhere; } }
@media print { body { background: #fff; font-size: 11pt; } video, .screen { display: none; }
  figure, .card, tr, pre { break-inside: avoid; } h2 { break-after: avoid; }
  .figures { grid-template-columns: 1fr 1fr; } header { padding-top: 0; } }
"""
