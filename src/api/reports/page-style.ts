// The style sheet of the pages that people print, and its hash: a page, and the dashboard that opens one, allow this sheet and no other.
import { createHash } from 'node:crypto'
import { html, htmlText } from '../../base/text/markup.ts'

export const PAGE_STYLE = html`
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --good: #116329; --bad: #a40e26; --wash: #f6f8fa }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b3; --line: #3d444d; --paper: #0d1117; --good: #56d364; --bad: #ff7b72; --wash: #161b22 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 75rem; padding: 2rem 1.5rem; color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif }
h1 { margin: 0; font-size: 1.9rem; overflow-wrap: anywhere }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem }
.kicker { margin: 0; color: var(--soft) }
.outcome { font-size: 1.2rem; font-weight: 600; border-left: .3rem solid var(--line); padding-left: .8rem }
.outcome.good { border-color: var(--good) }
.outcome.bad { border-color: var(--bad) }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: .8rem 1.5rem; margin: 0 }
dt { color: var(--soft); font-size: .85rem }
dd { margin: 0; overflow-wrap: anywhere }
section { overflow-x: auto }
section:focus-visible { outline: 2px solid var(--soft); outline-offset: .3rem }
table { width: 100%; border-collapse: collapse; font-size: .9rem }
caption { text-align: left; color: var(--soft); padding: .2rem 0 .5rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); overflow-wrap: break-word }
thead th { background: var(--wash); white-space: nowrap }
tbody th { font-weight: 500 }
th.n, .n { text-align: right; font-variant-numeric: tabular-nums }
time { white-space: nowrap; font-variant-numeric: tabular-nums }
.key { overflow-wrap: anywhere; min-width: 12rem }
.long { overflow-wrap: anywhere; min-width: 16rem }
.bar { display: block; width: 100%; height: .3rem; margin-top: .2rem; min-width: 4rem; background: var(--line); fill: var(--good) }
.box { display: inline-block; width: 1.1em; height: 1.1em; line-height: 1; text-align: center; border: 1.5px solid var(--ink); font-style: normal; font-weight: 700 }
.blank { min-width: 5rem; height: 2rem }
.stop { font-weight: 700; text-transform: uppercase; border: 2px solid var(--ink); padding: .1rem .3rem }
.group th { background: var(--wash); font-weight: 700 }
pre { margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
footer { margin-top: 3rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .85rem }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --good: #116329; --bad: #a40e26; --wash: #eee }
  @page { margin: 15mm }
  body { max-width: none; padding: 0; font-size: 10pt }
  section { overflow: visible }
  thead { display: table-header-group }
  tr { break-inside: avoid }
  h2, h3, caption, .group { break-after: avoid }
  .sheet { font-size: 9pt }
  .sheet table { font-size: 8.5pt }
  .sheet th, .sheet td { padding: .15rem .3rem }
  .sheet time { white-space: normal }
  .key, .long { min-width: 0 }
  .bar, thead th { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
`

/** Allows this sheet and no other style. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(htmlText(PAGE_STYLE)).digest('base64')}'`
