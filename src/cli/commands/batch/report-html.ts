// The report of a batch as one HTML page: no scripts, no external resources, all text escaped. Accessible: captions and headings for
// screen readers, no meaning by colour alone, table headings repeated on every printed page.

import { type Outcome, outcomeWord } from '../../../domain/outcome.ts'
import { statusWord } from '../../../domain/words.ts'
import { fullTimeText } from '../../../domain/zoned-time.ts'
import { BATCH_ENDED } from './lists.ts'
import type {
  CourseEvent,
  MemberPages,
  ReportBatch,
  ReportFailureGroup,
  ReportHead,
  ReportMember,
  ReportPhase,
  ReportReader,
} from './report-data.ts'
import { type Html, html, htmlText } from './report-markup.ts'

export async function* htmlReport(
  head: ReportHead,
  members: MemberPages,
  reader: ReportReader,
): AsyncGenerator<string> {
  for await (const part of pageOf(head, members, reader))
    yield part.replaceAll(
      /<time datetime="([^"]+)"><\/time>/g,
      (_, iso: string) =>
        `<time datetime="${iso}">${fullTimeText(new Date(iso), reader.zone)}</time>`,
    )
}

/** The page; its times have no text yet. */
async function* pageOf(
  head: ReportHead,
  members: MemberPages,
  { isInternal, zone }: ReportReader,
): AsyncGenerator<string> {
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
<p class="outcome ${moodOf(batch)}">${outcomeOf(batch)}</p>
${heldOf(batch, isInternal)}
${BATCH_ENDED.includes(batch.status) ? null : html`<p>The batch was still running when this report was made; figures may differ slightly.</p>`}
</header>
<main>
`)
  yield htmlText(
    html`${factsOf(head, isInternal)}${phasesOf(head.phases)}${failuresOf(head.failures)}`,
  )
  yield* membersOf(batch, members, isInternal)
  yield htmlText(html`${isInternal ? courseOf(head) : null}
</main>
<footer><p>Created ${time(head.madeAt)} by ${head.madeBy}${isInternal ? ` from ${head.api}` : ''} with matoolkit. Times are in the zone ${zone}. This page names people: share it with care.</p></footer>
</body>
</html>
`)
}

function heldOf({ held }: ReportBatch, isInternal: boolean): Html | null {
  if (held === null) return null
  return html`<p>Held since ${time(held.at)}${isInternal ? ` by ${held.by}: ${held.reason}` : '.'}</p>`
}

/** "Completed: migrated (147), failed (3)." */
function outcomeOf({ status, members }: ReportBatch): string {
  const parts = HEADLINE.filter((outcome) => membersIn(members, outcome) > 0).map(
    (outcome) => `${titleOf(outcome)} (${count(membersIn(members, outcome))})`,
  )
  const headline = capital(status.replaceAll('_', ' '))
  return `${headline}: ${parts.length === 0 ? 'no members' : parts.join(', ')}.`
}

const HEADLINE: readonly Outcome[] = ['migrated', 'in_progress', 'stopped', 'failed', 'removed']

const membersIn = (members: ReportBatch['members'], outcome: Outcome): number =>
  members[outcome === 'in_progress' ? 'inProgress' : outcome]

/** Who left was removed, or is in another batch. */
const titleOf = (outcome: Outcome): string =>
  outcome === 'removed' ? 'left' : outcomeWord(outcome)

/** The colour next to the headline. */
function moodOf({ status, members }: ReportBatch): string {
  if (status === 'failed' || status === 'cancelled' || members.failed > 0) return 'bad'
  return status === 'completed' ? 'good' : 'open'
}

const count = (number: number): string => number.toLocaleString('en')

const time = (iso: string | null): Html | null =>
  iso === null ? null : html`<time datetime="${iso}"></time>`

function factsOf({ batch }: ReportHead, isInternal: boolean): Html {
  const facts: readonly (readonly [string, Html | string | null])[] = [
    ['Runbook', `${batch.runbookName}, version ${batch.runbookVersion}`],
    ['Start', time(batch.batchStartTime) ?? 'not set'],
    ['Kind', batch.isManual ? 'manual' : 'from the data source'],
    ['Created by', isInternal ? batch.createdBy : null],
    ['Detected', time(batch.detectedAt)],
    ['Active since', time(batch.activatedAt)],
    ['Ended', time(batch.endedAt)],
  ]
  const shown = facts.filter(([, value]) => value !== null)
  const list = shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)
  return section('facts', 'The batch', html`<dl>${list}</dl>`)
}

/** The heading of a column of numbers. */
const numberHead = (head: string): Html => html`<th scope="col" class="n">${head}</th>`
const columns = (...heads: readonly string[]): Html[] =>
  heads.map((head) => html`<th scope="col">${head}</th>`)

/** A table with a caption; its first column has the row headings. */
function table(caption: string, heads: readonly Html[], rows: readonly Html[]): Html {
  return html`<table><caption>${caption}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${rows}</tbody></table>
`
}

/** A section. It scrolls sideways, so it needs a tabindex for the keyboard. */
const section = (id: string, title: string, inside: Html): Html =>
  html`<section aria-labelledby="${id}" tabindex="0"><h2 id="${id}">${title}</h2>
${inside}</section>
`

function phasesOf(phases: readonly ReportPhase[]): Html {
  if (phases.length === 0) return section('phases', 'Phases', html`<p>The batch has no phases.</p>`)
  // Phases of manual batches have no due time.
  const isTimed = phases.some(({ dueAt }) => dueAt !== null)
  const heads = [
    ...columns('Phase', ...(isTimed ? ['Due'] : []), 'Began', 'Ended', 'Status'),
    ...['Members', 'Passed', 'Failed', 'Stopped earlier', 'Removed'].map(numberHead),
  ]
  const rows = phases.map(
    (phase) => html`<tr><th scope="row">${phase.phaseName}</th>
${isTimed ? html`<td>${time(phase.dueAt)}</td>` : null}
<td>${time(phase.dispatchedAt)}</td><td>${time(phase.completedAt)}</td>
<td>${statusOf(phase)}</td><td class="n">${count(phase.members.total)}</td>
<td class="n">${count(phase.members.passed)}${bar(phase.members)}</td>
<td class="n">${count(phase.members.failed)}</td><td class="n">${count(phase.members.stopped)}</td>
<td class="n">${count(phase.members.removed)}</td></tr>
`,
  )
  const caption = 'Members by phase. Stopped earlier: failed in an earlier phase.'
  return section('phases', 'Phases', table(caption, heads, rows))
}

const statusOf = ({ status, skippedBecause }: ReportPhase): string =>
  skippedBecause ? `${status} (${skippedBecause})` : statusWord('phase', status)

/** A visual form of the number next to it, hidden from screen readers. */
function bar({ passed, total }: ReportPhase['members']): Html | null {
  if (total === 0) return null
  const percent = Math.floor((passed / total) * 100)
  return html`<span class="bar" aria-hidden="true"><span style="width:${percent}%"></span></span>`
}

function failuresOf({ count: all, groupCount, groups }: ReportHead['failures']): Html {
  const title = 'What failed'
  if (all === 0) return section('failures', title, html`<p>No step failed.</p>`)
  const row = (
    group: ReportFailureGroup,
  ): Html => html`<tr><th scope="row" class="long">${group.pattern}</th>
<td>${group.phaseName ?? 'init'}</td><td>${group.stepName}</td><td class="n">${count(group.count)}</td>
<td>${time(group.firstSeenAt)}</td><td>${time(group.lastSeenAt)}</td></tr>
`
  const heads = [
    ...columns('Error', 'Phase', 'Step'),
    numberHead('Times'),
    ...columns('First', 'Last'),
  ]
  const isWhole = groups.length === groupCount
  const listed = isWhole
    ? 'All kinds'
    : `The ${groups.length} most frequent of ${count(groupCount)} kinds`
  const caption = `${listed} of error, in ${count(all)} failed steps; ids, times and addresses are masked.`
  return section('failures', title, table(caption, heads, groups.map(row)))
}

/** Every member, a section per outcome, written page by page. */
async function* membersOf(
  { members }: ReportBatch,
  pages: MemberPages,
  isInternal: boolean,
): AsyncGenerator<string> {
  for (const { outcome, more, cells } of groupsFor(isInternal)) {
    const all = membersIn(members, outcome)
    if (all === 0) continue
    const title = `${capital(titleOf(outcome))} (${count(all)})`
    const caption = `All ${count(all)}, in the order of their keys.`
    const [begin, end] = emptySection(outcome, title, caption, columns('Member', ...more))
    yield begin
    for await (const page of pages(outcome)) yield page.map((one) => rowOf(one, cells)).join('')
    yield end
  }
}

/** A section with a table, as what comes before the rows and after. */
function emptySection(
  id: string,
  title: string,
  caption: string,
  heads: readonly Html[],
): [begin: string, end: string] {
  const mark = html`<!-- rows -->`
  const [begin, end] = htmlText(section(id, title, table(caption, heads, [mark]))).split(
    htmlText(mark),
  )
  return [begin!, end!]
}

const rowOf = (member: ReportMember, cells: MemberGroup['cells']): string =>
  htmlText(html`<tr><th scope="row" class="key">${member.memberKey}</th>
${cells(member)}</tr>
`)

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

interface MemberGroup {
  readonly outcome: Outcome
  readonly more: readonly string[]
  cells(member: ReportMember): Html
}

/** Members that need attention come first. */
const groupsFor = (isInternal: boolean): readonly MemberGroup[] => [
  {
    outcome: 'failed',
    more: ['Failed', 'Phase', 'Step', 'Error'],
    cells: ({ failedAt, failure }) => html`<td>${time(failedAt)}</td><td>${failure?.phaseName}</td>
<td>${failure?.stepName}</td><td class="long">${failure?.error}</td>`,
  },
  {
    outcome: 'removed',
    more: ['Joined', 'Left', 'Outcome', ...(isInternal ? ['Removed by'] : [])],
    cells: ({ joinedAt, leftAt, removedBy, movedToBatchId, outcome }) =>
      html`<td>${time(joinedAt)}</td><td>${time(leftAt)}</td><td>${outcomeWord(outcome, movedToBatchId)}</td>${isInternal ? html`<td>${removedBy}</td>` : null}`,
  },
  ...(['stopped', 'in_progress'] as const).map((outcome) => ({
    outcome,
    more: ['Joined'],
    cells: ({ joinedAt }: ReportMember) => html`<td>${time(joinedAt)}</td>`,
  })),
  {
    outcome: 'migrated',
    more: ['Joined', 'Finished'],
    cells: ({ joinedAt, finishedAt }) =>
      html`<td>${time(joinedAt)}</td><td>${time(finishedAt)}</td>`,
  },
]

function courseOf({ course, isCourseComplete }: ReportHead): Html {
  const row = (event: CourseEvent): Html => html`<tr><th scope="row">${time(event.at)}</th>
<td>${event.phaseName ?? event.entity}</td><td>${event.event.replaceAll('_', ' ')}</td>
<td>${event.actor}</td><td class="long">${event.because}</td></tr>
`
  const caption = isCourseComplete
    ? 'Events of the batch and its phases.'
    : `Events of the batch and its phases: the first ${count(course.length)}.`
  const heads = columns('When', 'What', 'Event', 'Who', 'Because')
  return section('course', 'History', table(caption, heads, course.map(row)))
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
.bar { display: block; height: .3rem; margin-top: .2rem; min-width: 4rem; background: var(--line) }
.bar span { display: block; height: 100%; background: var(--good) }
footer { margin-top: 3rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .85rem }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --good: #116329; --bad: #a40e26; --wash: #eee }
  @page { margin: 15mm }
  body { max-width: none; padding: 0; font-size: 10pt }
  section { overflow: visible }
  thead { display: table-header-group }
  tr { break-inside: avoid }
  h2 { break-after: avoid }
  .bar, thead th { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
`
