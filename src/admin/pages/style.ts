import { icon } from './icon.ts'

/**
 * The one stylesheet of the pages that the server renders. A string, so that the compiled package needs no other file.
 * Colours and measures are those of the console's theme (a test compares them).
 */
export const pagesCss = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f7f7f5, #141517);
  --paper: light-dark(#ffffff, #1b1d20);
  --sunk: light-dark(#f0f0ed, #232529);
  --line: light-dark(#e0e0db, #33363b);
  --line-strong: light-dark(#8a8c88, #757a82);
  --ink: light-dark(#1d1f21, #e8e9ea);
  --ink-soft: light-dark(#585c61, #a6abb2);
  --accent: light-dark(#1f5fbf, #86b4f5);
  --accent-ink: light-dark(#ffffff, #0d1726);
  --accent-wash: light-dark(#e8f0fb, #1d2a3d);
  --bad: light-dark(#ac2a2a, #f29a92);
  --bad-wash: light-dark(#fbecea, #3a2120);
  --warn-wash: light-dark(#fbf2df, #33291a);
  --radius: 8px;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
}
*, *::before, *::after { box-sizing: border-box; }
html {
  background: var(--ground);
  color: var(--ink);
  font: 15px/1.6 var(--sans);
  font-variant-numeric: tabular-nums;
  -webkit-text-size-adjust: 100%;
  scrollbar-gutter: stable;
  scroll-padding-top: 16px;
}
body, h1, h2, h3, h4, p, ul, dl, dd, pre, figure { margin: 0; padding: 0; }
h1 { font-size: 1.7rem; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; }
h2 { font-size: 1.25rem; line-height: 1.35; font-weight: 650; }
h3 { font-size: 1.05rem; line-height: 1.4; font-weight: 650; overflow-wrap: anywhere; }
h4 { font-size: 0.93rem; font-weight: 650; }
a { color: var(--accent); text-underline-offset: 3px; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
code, pre { font-family: var(--mono); font-size: 0.86em; }
code { overflow-wrap: break-word; }
thead th, th code, .kind, .required { white-space: nowrap; }
.quiet, .lead, .hint { color: var(--ink-soft); }
.hint { font-size: 0.87rem; }
.money { white-space: nowrap; font-weight: 600; }

.skip { position: absolute; inset: -100px auto auto 12px; z-index: 5; padding: 8px 14px; background: var(--paper); }
.skip:focus { top: 12px; }
.top {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 22px;
  padding: 10px max(16px, calc((100% - 1180px) / 2 + 16px));
  border-bottom: 1px solid var(--line);
  background: var(--paper);
}
.top nav { display: flex; flex-wrap: wrap; gap: 2px; }
.top nav a { padding: 5px 10px; border-radius: var(--radius); color: var(--ink); text-decoration: none; }
.top nav a:hover { background: var(--sunk); }
.top nav a[aria-current] { background: var(--accent-wash); color: var(--accent); font-weight: 600; }
.top .languages { margin-inline-start: auto; }
.name {
  display: flex;
  align-items: center;
  gap: 10px;
  color: var(--ink);
  text-decoration: none;
  font-weight: 700;
  font-size: 1.08rem;
  letter-spacing: -0.01em;
}
.name::before { content: ''; width: 26px; height: 26px; background: url("${icon}"); }
main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 20px; max-width: 1180px; margin: 0 auto; padding: 32px 16px 64px; }
main > section, .chapter { display: grid; grid-template-columns: minmax(0, 1fr); gap: 14px; }
section > h2 { margin-top: 14px; }
.card {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 12px;
  padding: 20px 22px;
  border: 1px solid var(--line);
  border-radius: 12px;
  background: var(--paper);
}
.card > h2 { margin: 0; }
.card > header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; }
.card > h4 { margin-top: 8px; }
.card ul, .notes ul { display: grid; gap: 5px; padding-inline-start: 20px; max-width: 78ch; }
.card > p, section > p, .lead { max-width: 78ch; overflow-wrap: anywhere; }

table { width: 100%; border-collapse: collapse; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
th, td { padding: 8px 14px 8px 0; text-align: start; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { font-size: 0.84rem; font-weight: 550; color: var(--ink-soft); }
tbody th { font-weight: inherit; overflow-wrap: break-word; }
tbody tr:last-child > * { border-bottom: 0; }
td.empty { padding: 0; }
.card .table + h4 { margin-top: 14px; }

form { display: grid; grid-template-columns: 2fr 1.2fr 1.4fr 0.7fr auto; gap: 12px 14px; align-items: end; }
form .hint { grid-column: 1 / -1; }
label { display: grid; gap: 5px; min-width: 0; font-weight: 550; font-size: 0.93rem; }
input, select, button {
  width: 100%;
  min-width: 0;
  min-height: 38px;
  padding: 6px 10px;
  border: 1px solid var(--line-strong);
  border-radius: var(--radius);
  background: var(--paper);
  color: var(--ink);
  font: inherit;
  font-weight: 400;
}
button {
  width: auto;
  padding-inline: 18px;
  border-color: var(--accent);
  background: var(--accent);
  color: var(--accent-ink);
  font-weight: 550;
  cursor: pointer;
}
button:hover { background: color-mix(in oklab, var(--accent) 88%, var(--ink)); }
.result { display: grid; gap: 6px; padding: 14px 16px; border-radius: var(--radius); background: var(--accent-wash); }
.result.refused { display: block; background: var(--bad-wash); color: var(--bad); overflow-wrap: anywhere; }
.sum { font-size: 1.3rem; line-height: 1.3; }
.sum b { font-weight: 700; }
.warning { display: block; padding: 8px 12px; border-radius: var(--radius); background: var(--warn-wash); }
td .warning { padding: 6px 10px; font-size: 0.92em; }

.reference { display: grid; grid-template-columns: 236px minmax(0, 1fr); gap: 20px 40px; align-items: start; }
.reference > .contents { position: sticky; top: 16px; max-height: calc(100dvh - 32px); overflow-y: auto; font-size: 0.92rem; }
.contents ul { display: grid; gap: 1px; padding: 0; list-style: none; }
.contents ul ul { padding-inline-start: 12px; margin-bottom: 8px; }
.contents a { display: block; padding: 3px 8px; border-radius: 6px; color: var(--ink); text-decoration: none; overflow-wrap: anywhere; }
.contents a:hover { background: var(--sunk); }
.contents ul ul a { color: var(--ink-soft); font-size: 0.94em; }
.chapters { display: grid; grid-template-columns: minmax(0, 1fr); gap: 44px; }
.chapters > h1 { margin-bottom: -22px; }
.operation { gap: 14px; }
.path { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 10px; font-family: var(--mono); font-size: 0.92rem; }
.method { justify-self: start; padding: 1px 8px; border-radius: 5px; background: var(--accent-wash); color: var(--accent); font-weight: 650; font-size: 0.86rem; }
.kind { color: var(--ink-soft); font-size: 0.87rem; }
.required { color: var(--bad); font-size: 0.84rem; font-weight: 550; }
details > summary { cursor: pointer; font-weight: 550; }
.samples { display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px; }
.samples details { border: 1px solid var(--line); border-radius: var(--radius); background: var(--sunk); }
.samples summary { padding: 7px 14px; font-size: 0.92rem; }
pre { overflow-x: auto; line-height: 1.6; tab-size: 2; }
.samples pre, pre.block { padding: 12px 14px; }
.samples pre { border-top: 1px solid var(--line); }
pre.block { border: 1px solid var(--line); border-radius: var(--radius); background: var(--sunk); }

@media (max-width: 900px) {
  form { grid-template-columns: 1fr 1fr; }
  form button { grid-column: 1 / -1; }
  .reference { grid-template-columns: minmax(0, 1fr); }
  .reference > .contents { position: static; max-height: none; padding: 8px; border: 1px solid var(--line); border-radius: var(--radius); background: var(--paper); }
  .contents ul { grid-template-columns: repeat(auto-fill, minmax(140px, 1fr)); }
  .contents ul ul { display: none; }
}
@media (min-width: 901px) {
  .sizes th, .sizes td:not(:last-child) { white-space: nowrap; }
}
@media (max-width: 640px) {
  main { padding-top: 22px; }
  .card { padding: 16px; }
  .top .languages { margin-inline-start: 0; }
  table, tbody, tr, tbody th, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: 10px 0; border-bottom: 1px solid var(--line); }
  tbody tr:last-child { border-bottom: 0; }
  th, td { padding: 2px 0; border: 0; }
  tbody th { font-weight: 650; }
  th code, .kind { white-space: normal; overflow-wrap: anywhere; }
  td { display: grid; grid-template-columns: minmax(96px, 36%) minmax(0, 1fr); gap: 12px; overflow-wrap: anywhere; }
  td.empty { display: none; }
  td::before { content: attr(data-name); color: var(--ink-soft); font-size: 0.87rem; }
  td[data-name=""] { grid-template-columns: minmax(0, 1fr); }
  td[data-name=""]::before { content: none; }
}
@media print {
  .top, .contents, form { display: none; }
  .reference { display: block; }
}
`
