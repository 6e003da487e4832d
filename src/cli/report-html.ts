// The report of a batch as one HTML page: no script, nothing fetched from anywhere, every text escaped by the way it is put in.
// Made for people: a headline that says how it went, tables with captions and headings that screen readers announce, colours never
// alone in what they say, and a layout that prints with its headings repeated on every sheet.

import type {
  CourseEvent,
  FailureGroup,
  ReportBatch,
  ReportHead,
  ReportMember,
  ReportPhase,
} from './report-data.ts'
import { type Html, html, htmlText } from './report-markup.ts'

type Pages = (status?: ReportMember['status']) => AsyncIterable<readonly ReportMember[]>

/** A page with more rows is no page that anybody reads; CSV and JSON have all of them. */
const MEMBERS_LISTED_MAX = 5_000
const ENDED = ['completed', 'failed', 'cancelled']

export async function* htmlReport(head: ReportHead, members: Pages): AsyncGenerator<string> {
  const { batch } = head
  const title = `Batch ${batch.id} of ${batch.runbookName}`
  yield htmlText(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<p class="kicker">Migration report</p>
<h1>${title}</h1>
<p class="outcome ${batch.status}">${outcomeOf(batch)}</p>
${head.batch.held ? html`<p>Held since ${time(head.batch.held.at)} by ${head.batch.held.by}: ${head.batch.held.reason}</p>` : null}
${ENDED.includes(batch.status) ? null : html`<p>The batch was not at its end when this was made; figures may differ by what happened meanwhile.</p>`}
</header>
<main>
`)
  yield htmlText(html`${factsOf(head)}${phasesOf(head.phases)}${failuresOf(head.failures)}`)
  yield* membersOf(batch, members)
  yield htmlText(html`${courseOf(head)}
</main>
<footer><p>Made ${time(head.madeAt)} by ${head.madeBy} from ${head.api} with matoolkit. All times are UTC. This page names people: pass it on with care.</p></footer>
</body>
</html>
`)
}

/** "Completed: 147 of 150 members passed, 3 failed." */
function outcomeOf({ status, members }: ReportBatch): string {
  const { active, failed, removed, total } = members
  const went = status === 'completed' ? 'passed' : 'active'
  const rest = [
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(removed > 0 ? [`${count(removed)} removed`] : []),
  ]
  const words = status.replaceAll('_', ' ')
  const said = `${words.charAt(0).toUpperCase()}${words.slice(1)}`
  return `${said}: ${[`${count(active)} of ${count(total)} members ${went}`, ...rest].join(', ')}.`
}

const count = (number: number): string => number.toLocaleString('en')

const time = (iso: string | null): Html | null =>
  iso === null
    ? null
    : html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`

function factsOf({ batch }: ReportHead): Html {
  const facts: readonly (readonly [string, Html | string | null])[] = [
    ['Runbook', `${batch.runbookName}, version ${batch.runbookVersion}`],
    ['Start', time(batch.batchStartTime) ?? 'not set'],
    ['Kind', batch.isManual ? 'manual' : 'from the data source'],
    ['Created by', batch.createdBy],
    ['Detected', time(batch.detectedAt)],
    ['Active since', time(batch.activatedAt)],
    ['Ended', time(batch.endedAt)],
  ]
  const shown = facts.filter(([, value]) => value !== null)
  return html`<section aria-labelledby="facts"><h2 id="facts">The batch</h2>
<dl>${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>
`
}

/** A table with a caption; its first column heads the rows. */
function table(caption: string, heads: readonly string[], rows: readonly Html[]): Html {
  return html`<table><caption>${caption}</caption>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table>
`
}

function phasesOf(phases: readonly ReportPhase[]): Html {
  const heads = ['Phase', 'Due', 'Began', 'Ended', 'Status', 'Members', 'Passed', 'Failed']
  const rows = phases.map(
    (phase) => html`<tr><th scope="row">${phase.phaseName}</th><td>${time(phase.dueAt)}</td>
<td>${time(phase.dispatchedAt)}</td><td>${time(phase.completedAt)}</td>
<td>${statusOf(phase)}</td><td class="n">${count(phase.members.total)}</td>
<td class="n">${count(phase.members.passed)}${bar(phase.members)}</td>
<td class="n">${count(phase.members.failed)}</td><td class="n">${count(phase.members.stopped)}</td>
<td class="n">${count(phase.members.removed)}</td></tr>
`,
  )
  return html`<section aria-labelledby="phases"><h2 id="phases">Phases</h2>
${
  rows.length === 0
    ? html`<p>The batch has no phases.</p>`
    : table(
        'Members by phase. Stopped earlier: failed in a former phase.',
        [...heads, 'Stopped earlier', 'Removed'],
        rows,
      )
}</section>
`
}

const statusOf = ({ status, skippedBecause }: ReportPhase): string =>
  skippedBecause ? `${status} (${skippedBecause})` : status

/** What the number beside it says, for the eye only. */
function bar({ passed, total }: ReportPhase['members']): Html | null {
  if (total === 0) return null
  const percent = Math.floor((passed / total) * 100)
  return html`<span class="bar" aria-hidden="true"><span style="width:${percent}%"></span></span>`
}

function failuresOf({ count: all, groupCount, groups }: ReportHead['failures']): Html {
  const row = (group: FailureGroup): Html => html`<tr><th scope="row">${group.pattern}</th>
<td>${group.phaseName ?? 'init'}</td><td>${group.stepName}</td><td class="n">${count(group.count)}</td>
<td>${time(group.firstSeenAt)}</td><td>${time(group.lastSeenAt)}</td></tr>
`
  const heads = ['Error', 'Phase', 'Step', 'Times', 'First', 'Last']
  const listed =
    groups.length < groupCount
      ? `The ${groups.length} most frequent of ${count(groupCount)}`
      : 'All'
  return html`<section aria-labelledby="failures"><h2 id="failures">What failed</h2>
${
  all === 0
    ? html`<p>No step failed for good.</p>`
    : table(`${listed} kinds of error, of ${count(all)} failed steps.`, heads, groups.map(row))
}</section>
`
}

async function* membersOf({ members }: ReportBatch, pages: Pages): AsyncGenerator<string> {
  const heads = ['Member', 'Joined']
  let room = MEMBERS_LISTED_MAX
  for (const { status, title, more, cells } of GROUPS) {
    const all = members[status]
    if (all === 0) continue
    const rows: Html[] = []
    for await (const page of pages(status)) {
      rows.push(
        ...page.slice(0, room - rows.length).map(
          (member) => html`<tr><th scope="row">${member.memberKey}</th>
<td>${time(member.joinedAt)}</td>${cells(member)}</tr>
`,
        ),
      )
      if (rows.length >= room) break
    }
    room -= rows.length
    const said =
      rows.length < all
        ? `The first ${count(rows.length)} of ${count(all)}; reports in CSV and JSON list all.`
        : `All ${count(all)}.`
    yield htmlText(html`<section aria-labelledby="${status}"><h2 id="${status}">${title}</h2>
${table(said, [...heads, ...more], rows)}</section>
`)
  }
}

/** Whoever needs a look comes first. */
const GROUPS: readonly {
  readonly status: ReportMember['status']
  readonly title: string
  readonly more: readonly string[]
  cells(member: ReportMember): Html
}[] = [
  {
    status: 'failed',
    title: 'Failed members',
    more: ['Failed', 'Phase', 'Step', 'Error'],
    cells: ({ failedAt, failure }) => html`<td>${time(failedAt)}</td><td>${failure?.phaseName}</td>
<td>${failure?.stepName}</td><td class="error">${failure?.error}</td>`,
  },
  {
    status: 'removed',
    title: 'Removed members',
    more: ['Left', 'Removed by', 'Moved to batch'],
    cells: ({ leftAt, removedBy, movedToBatchId }) =>
      html`<td>${time(leftAt)}</td><td>${removedBy}</td><td>${movedToBatchId}</td>`,
  },
  { status: 'active', title: 'Members who did not fail', more: [], cells: () => html`` },
]

function courseOf({ course, isCourseComplete }: ReportHead): Html {
  const row = (one: CourseEvent): Html => html`<tr><th scope="row">${time(one.at)}</th>
<td>${one.phaseName ?? one.thing}</td><td>${one.event.replaceAll('_', ' ')}</td>
<td>${one.actor}</td><td>${one.because}</td></tr>
`
  const caption = isCourseComplete
    ? 'What happened to the batch and its phases.'
    : `What happened to the batch and its phases: the first ${count(course.length)} events.`
  return html`<section aria-labelledby="course"><h2 id="course">The course</h2>
${
  course.length === 0
    ? html`<p>Nothing has happened yet.</p>`
    : table(caption, ['When', 'What', 'Event', 'Who', 'Because'], course.map(row))
}</section>
`
}

const STYLE = html`
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --good: #116329; --bad: #a40e26; --wash: #f6f8fa }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b3; --line: #3d444d; --paper: #0d1117; --good: #56d364; --bad: #ff7b72; --wash: #161b22 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 75rem; padding: 2rem 1.5rem; color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif }
h1 { margin: 0; font-size: 1.9rem; overflow-wrap: anywhere }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem }
.kicker { margin: 0; color: var(--soft) }
.outcome { font-size: 1.2rem; font-weight: 600; border-left: .3rem solid var(--line); padding-left: .8rem }
.outcome.completed { border-color: var(--good) }
.outcome.failed, .outcome.cancelled { border-color: var(--bad) }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: .8rem 1.5rem; margin: 0 }
dt { color: var(--soft); font-size: .85rem }
dd { margin: 0; overflow-wrap: anywhere }
section { overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-size: .9rem }
caption { text-align: left; color: var(--soft); padding: .2rem 0 .5rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
thead th { background: var(--wash); white-space: nowrap }
tbody th { font-weight: 500 }
.n { text-align: right; font-variant-numeric: tabular-nums }
time { white-space: nowrap; font-variant-numeric: tabular-nums }
.error { min-width: 14rem }
.bar { display: block; height: .3rem; margin-top: .2rem; min-width: 4rem; background: var(--line) }
.bar span { display: block; height: 100%; background: var(--good) }
footer { margin-top: 3rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .85rem }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --good: #116329; --wash: #eee }
  @page { margin: 15mm }
  body { max-width: none; padding: 0; font-size: 10pt }
  section { overflow: visible }
  thead { display: table-header-group }
  tr { break-inside: avoid }
  h2 { break-after: avoid }
  .bar, thead th { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
`
