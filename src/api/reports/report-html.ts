// The report of a batch as one HTML page: no scripts, no external resources, all text escaped. Accessible: captions and headings for
// screen readers, no meaning by colour alone, table headings repeated on every printed page.

import { type Html, html, htmlText } from '../../base/text/markup.ts'
import { type PersonState, statesText, stateWord } from '../../domain/state/person-state.ts'
import { isBatchEnded } from '../../domain/state/transitions.ts'
import { statusWord } from '../../domain/state/words.ts'
import {
  columns,
  emptySection,
  numberHead,
  pageHead,
  section,
  table,
  time,
  withTimes,
} from './page-parts.ts'
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

export async function* htmlReport(
  head: ReportHead,
  members: MemberPages,
  reader: ReportReader,
): AsyncGenerator<string> {
  yield* withTimes(pageOf(head, members, reader), reader.zone)
}

/** The page; its times have no text yet. */
async function* pageOf(
  head: ReportHead,
  members: MemberPages,
  { isInternal, zone }: ReportReader,
): AsyncGenerator<string> {
  const { batch } = head
  const title = `Batch ${batch.id} of ${batch.runbookName}`
  yield htmlText(html`${pageHead(title)}<body>
<header>
<p class="kicker">Migration report</p>
<h1>${title}</h1>
<p class="outcome ${moodOf(batch)}">${headlineOf(batch)}</p>
${heldOf(batch, isInternal)}
${isBatchEnded(batch.status) ? null : html`<p>The batch was still running when this report was made; figures may differ slightly.</p>`}
</header>
<main>
`)
  yield htmlText(
    html`${factsOf(head, isInternal)}${phasesOf(head.phases)}${failuresOf(head.failures)}`,
  )
  yield* membersOf(batch, members, isInternal)
  yield htmlText(html`${isInternal ? courseOf(head) : null}
</main>
<footer><p>Created ${time(head.madeAt)} by ${head.madeBy} with matoolkit. Times are in the zone ${zone}. This page names people: share it with care.</p></footer>
</body>
</html>
`)
}

function heldOf({ held }: ReportBatch, isInternal: boolean): Html | null {
  if (held === null) return null
  return html`<p>Held since ${time(held.at)}${isInternal ? ` by ${held.by}: ${held.reason}` : '.'}</p>`
}

/** "191 of 201 cut over, 10 failed. The batch is active." */
const headlineOf = ({ status, members }: ReportBatch): string =>
  `${capital(statesText(members))}. The batch is ${statusWord('batch', status)}.`

/** Who left was removed, or is in another batch. */
const titleOf = (state: PersonState): string => (state === 'removed' ? 'left' : stateWord(state))

/** The colour next to the headline. */
function moodOf({ status, members }: ReportBatch): string {
  if (status === 'failed' || status === 'cancelled' || members.failed + members.rolled_back > 0)
    return 'bad'
  return status === 'completed' ? 'good' : 'open'
}

const count = (number: number): string => number.toLocaleString('en')

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
  // Attributes, no style: a dashboard that opens this page allows no style but the sheet below.
  return html`<svg class="bar" aria-hidden="true" viewBox="0 0 100 4" preserveAspectRatio="none"><rect width="${percent}" height="4"></rect></svg>`
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

/** Every member, a section per state, written page by page. */
async function* membersOf(
  { members }: ReportBatch,
  pages: MemberPages,
  isInternal: boolean,
): AsyncGenerator<string> {
  for (const { state, more, cells } of groupsFor(isInternal)) {
    const all = members[state]
    if (all === 0) continue
    const title = `${capital(titleOf(state))} (${count(all)})`
    const caption = `All ${count(all)}, in the order of their keys.`
    const [begin, end] = emptySection(state, title, caption, columns('Member', ...more))
    yield begin
    for await (const page of pages(state)) yield page.map((one) => rowOf(one, cells)).join('')
    yield end
  }
}

const rowOf = (member: ReportMember, cells: MemberGroup['cells']): string =>
  htmlText(html`<tr><th scope="row" class="key">${member.memberKey}</th>
${cells(member)}</tr>
`)

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

interface MemberGroup {
  readonly state: PersonState
  readonly more: readonly string[]
  cells(member: ReportMember): Html
}

/** People who need attention come first. */
const groupsFor = (isInternal: boolean): readonly MemberGroup[] => [
  failedGroup('failed'),
  failedGroup('rolled_back'),
  {
    state: 'taken_back',
    more: ['Taken back'],
    cells: ({ failedAt }) => html`<td>${time(failedAt)}</td>`,
  },
  {
    state: 'removed',
    more: ['Joined', 'Left', 'State', ...(isInternal ? ['Removed by'] : [])],
    cells: ({ joinedAt, leftAt, removedBy, movedToBatchId, state }) =>
      html`<td>${time(joinedAt)}</td><td>${time(leftAt)}</td><td>${stateWord(state, movedToBatchId)}</td>${isInternal ? html`<td>${removedBy}</td>` : null}`,
  },
  ...(['stopped', 'scheduled', 'preparing', 'cutting_over'] as const).map((state) => ({
    state,
    more: ['Joined'],
    cells: ({ joinedAt }: ReportMember) => html`<td>${time(joinedAt)}</td>`,
  })),
  {
    state: 'cut_over',
    more: ['Joined', 'Cut over'],
    cells: ({ joinedAt, cutOverAt }) => html`<td>${time(joinedAt)}</td><td>${time(cutOverAt)}</td>`,
  },
  {
    state: 'done',
    more: ['Joined', 'Cut over', 'Finished'],
    cells: ({ joinedAt, cutOverAt, finishedAt }) =>
      html`<td>${time(joinedAt)}</td><td>${time(cutOverAt)}</td><td>${time(finishedAt)}</td>`,
  },
]

const failedGroup = (state: 'failed' | 'rolled_back'): MemberGroup => ({
  state,
  more: ['Failed', 'Phase', 'Step', 'Error'],
  cells: ({ failedAt, failure }) => html`<td>${time(failedAt)}</td><td>${failure?.phaseName}</td>
<td>${failure?.stepName}</td><td class="long">${failure?.error}</td>`,
})

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
