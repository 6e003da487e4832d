// The run sheet of a batch: one page to print before the night, for the hours in which matoolkit or the network is away. No scripts, no
// external resources, readable in black and white, and no row is cut by the end of a page.

import { countText } from '../../base/text/count-text.ts'
import { durationText, phaseOffsetText } from '../../base/text/duration.ts'
import { type Html, html, htmlText } from '../../base/text/markup.ts'
import type { PhaseMark } from '../../domain/needs/grid.ts'
import { whenText } from '../../domain/runbook/conditions.ts'
import type { FactsOf } from '../../domain/runbook/function-facts.ts'
import type { RetryPolicyDefinition, RunbookStep } from '../../domain/runbook/model.ts'
import { statusWord } from '../../domain/state/words.ts'
import { weeklyText } from '../../domain/windows/window-text.ts'
import type { GateState } from '../../engine/orders/gates.ts'
import { columns, emptySection, pageHead, section, table, time, withTimes } from './page-parts.ts'
import type { RunSheet, SheetPerson, SheetPhase } from './run-sheet-data.ts'
import { nightCommands, UNREACHABLE } from './run-sheet-texts.ts'

export const writeRunSheet = (sheet: RunSheet, zone: string): AsyncIterable<string> =>
  withTimes(pageOf(sheet, zone), zone)

async function* pageOf(sheet: RunSheet, zone: string): AsyncGenerator<string> {
  const { line, madeAt, madeBy } = sheet
  const title = `Run sheet: batch ${line.id} of ${line.runbookName}`
  yield htmlText(html`${pageHead(title)}<body class="sheet">
<header>
<p class="kicker">Run sheet. Printed facts age: this one is of ${time(madeAt)}.</p>
<h1>${title}</h1>
</header>
<main>
`)
  yield htmlText(
    html`${factsOf(sheet)}${peopleToCall(sheet)}${phasesOf(sheet)}${gatesOf(sheet.gates)}${windowsOf(sheet)}`,
  )
  yield htmlText(
    html`${stepsOf(sheet)}${failuresOf(sheet)}${commandsOf(sheet)}${unreachable()}${notes()}`,
  )
  yield* peopleOf(sheet)
  yield htmlText(html`</main>
<footer><p>Created ${time(madeAt)} by ${madeBy} with matoolkit. Times are in the zone ${zone}. This page names people: keep it with you, and destroy it after the night.</p></footer>
</body>
</html>
`)
}

const utcText = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** The same instant for people of two zones. */
const twoTimes = (at: Date | null): Html | null =>
  at === null ? null : html`${time(at)}<br>${utcText(at)}`

const BOXES: Readonly<Record<PhaseMark, Html>> = {
  open: html`<i class="box" role="img" aria-label="to do"></i>`,
  passed: html`<i class="box" role="img" aria-label="done">x</i>`,
  failed: html`<i class="box" role="img" aria-label="failed">F</i>`,
}
const markOf = (status: SheetPhase['state']['status']): PhaseMark =>
  status === 'completed' ? 'passed' : status === 'failed' ? 'failed' : 'open'

function factsOf({ line, runbook }: RunSheet): Html {
  const { membersActive, membersFailed, membersRemoved, heldAt, heldBy, heldReason } = line
  const facts: readonly (readonly [string, Html | string | null])[] = [
    ['Runbook', `${line.runbookName}, version ${line.runbookVersion}`],
    ['T-0', twoTimes(line.batchStartTime) ?? 'not set: phases start by hand'],
    ['Zone of the runbook', runbook.dataSource.timeZone],
    [
      'People',
      `${membersActive.toLocaleString('en')} active, ${membersFailed.toLocaleString('en')} failed`,
    ],
    ['Left', membersRemoved === 0 ? null : String(membersRemoved)],
    ['Status', statusWord('batch', line.status)],
    ['Failure limit', `held above ${runbook.safeguards.maxFailedPercent} % failed in a phase`],
    ['On hold', heldAt && html`since ${time(heldAt)} by ${heldBy}: ${heldReason}`],
  ]
  const shown = facts.filter(([, value]) => value !== null)
  const list = shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)
  return section('facts', 'At a glance', html`<dl>${list}</dl>`)
}

const ROLES = [
  'Leads the night',
  'Decides to hold',
  'Decides to cancel or undo',
  'Tells the people',
  'Administrator of the old tenant',
  'Administrator of the new tenant',
]

function peopleToCall({ channels }: RunSheet): Html {
  const rows = ROLES.map(
    (role) =>
      html`<tr><th scope="row">${role}</th><td class="blank"></td><td class="blank"></td></tr>
`,
  )
  const told =
    channels.length === 0
      ? 'No channel is set up: matoolkit notifies no one.'
      : `matoolkit tells: ${channels.map(({ name, type }) => `${name} (${type})`).join(', ')}.`
  return section(
    'call',
    'Who is called',
    html`<p>${told}</p>${table('Fill in before the night.', columns('Role', 'Name', 'Telephone'), rows)}`,
  )
}

function phasesOf({ phases }: RunSheet): Html {
  const rows = phases.map(
    ({
      state,
      definition,
    }) => html`<tr><th scope="row">${BOXES[markOf(state.status)]}&nbsp;${state.name}</th>
<td>${phaseOffsetText(state.offsetMinutes)}</td><td>${twoTimes(state.dueAt) ?? 'by hand'}</td>
<td>${statusWord('phase', state.status)}</td><td>${gateText(definition)}</td>
<td class="blank">${time(state.dispatchedAt)}</td><td class="blank">${time(state.completedAt)}</td></tr>
`,
  )
  const heads = columns('Phase', 'Offset', 'Due', 'Status', 'Before it starts', 'Began', 'Ended')
  const caption = 'In the order of time. Write when it began and ended, and tick it off.'
  return section('phases', 'Phases', table(caption, heads, rows))
}

function gateText(definition: SheetPhase['definition']): string {
  const { gate = null, ramp = null } = definition ?? {}
  const parts = [
    ...(gate && gate.approvals > 0 ? [countText(gate.approvals, 'approval')] : []),
    ...(gate?.readyPercent ? [`${gate.readyPercent} % ready`] : []),
    ...(ramp ? [`in shares of ${ramp.percents.join(', ')} %`] : []),
  ]
  return parts.length === 0 ? '–' : parts.join('; ')
}

function gatesOf(gates: readonly GateState[]): Html | null {
  if (gates.length === 0) return null
  const rows = gates.map(
    ({
      phase,
      missing,
      decisions,
    }) => html`<tr><th scope="row">${BOXES[phase.gatePassedAt ? 'passed' : 'open']}&nbsp;${phase.name}</th>
<td>${gateText({ ...phase, ramp: null, steps: [] })}</td>
<td>${phase.gatePassedAt ? 'passed' : missing.length === 0 ? 'open' : missing.join('; ')}</td>
<td>${decisions.filter(({ isCounted }) => isCounted).map(({ kind, decidedBy, decidedAt }) => html`${kind} by ${decidedBy}, ${time(decidedAt)}<br>`)}</td>
<td class="blank"></td></tr>
`,
  )
  const heads = columns('Phase', 'Needs', 'Missing', 'Decided so far', 'Signature')
  const caption =
    'A closed gate holds the batch at its time. An approval is void after another version, date or member.'
  return section('gates', 'Gates', table(caption, heads, rows))
}

function windowsOf({ windows }: RunSheet): Html | null {
  if (windows.length === 0) return null
  const items = windows.flatMap(([whose, own]) =>
    weeklyText(own).map((text) => html`<li>${whose}: ${text}</li>`),
  )
  return section(
    'windows',
    'Change windows',
    html`<p>Outside all of these nothing that changes a tenant is sent; it waits.</p><ul>${items}</ul>`,
  )
}

function stepsOf({ phases, runbook, functionFactsOf }: RunSheet): Html {
  const stepRow = (step: RunbookStep) => rowOf(step, functionFactsOf)
  const rows = phases.flatMap(({ state, definition }) => [
    html`<tr class="group"><th scope="rowgroup" colspan="6">${state.name} (${phaseOffsetText(state.offsetMinutes)})</th></tr>
`,
    ...(definition?.steps ?? []).map(stepRow),
  ])
  const init =
    runbook.init.length === 0
      ? []
      : [
          html`<tr class="group"><th scope="rowgroup" colspan="6">init, once before the first phase</th></tr>
`,
          ...runbook.init.map(stepRow),
        ]
  const heads = columns(
    'Step',
    'Function',
    'Worker',
    'Time limit and retries',
    'If it fails',
    'Undo',
  )
  const caption = 'For each person, in this order.'
  return section('steps', 'What each step does', table(caption, heads, [...init, ...rows]))
}

const rowOf = (
  step: RunbookStep,
  factsOf: FactsOf,
): Html => html`<tr><th scope="row">${step.name}${step.when.length > 0 ? html`<br>only when ${whenText(step.when)}` : ''}</th>
<td>${step.function}</td><td>${step.workerId}</td><td>${limitText(step)}</td>
<td>${step.onFailure === null ? 'the person fails' : `rollback ${step.onFailure}, then the person fails`}</td>
<td>${undoCell(step, factsOf)}</td></tr>
`

const seconds = (sec: number): string => durationText(sec * 1_000)

function limitText({ timeoutSec, retry, poll }: RunbookStep): string {
  const polled = poll
    ? `; asks every ${seconds(poll.intervalSec)} for ${seconds(poll.timeoutSec)}`
    : ''
  return `${seconds(timeoutSec)}; ${retryText(retry)}${polled}`
}

function retryText(retry: RetryPolicyDefinition | null): string {
  if (retry === null || retry.maxRetries === 0) return 'no retry'
  return `${countText(retry.maxRetries, 'retry', 'retries')}, first after ${seconds(retry.intervalSec)}`
}

function undoCell({ workerId, function: name, notify }: RunbookStep, factsOf: FactsOf): Html {
  if (notify !== null) return html`no: a message was sent`
  const facts = factsOf(workerId, name)
  if (facts === null) return html`unknown: not declared`
  if (facts.isIrreversible) return html`<strong class="stop">Point of no return</strong>`
  if (facts.effect === 'reads') return html`changes nothing`
  if (facts.effect === 'tells' || facts.isMomentary) return html`no`
  return html`${facts.undoneBy.length === 0 ? 'in part' : `yes: ${facts.undoneBy.join(', ')}`}`
}

function failuresOf({ failures }: RunSheet): Html {
  if (failures.length === 0)
    return section('failures', 'Failures so far', html`<p>None when this was printed.</p>`)
  const rows = failures.map(
    ({ pattern, phaseName, stepName, count, means, todo }) =>
      html`<tr><th scope="row" class="long">${cut(pattern)}</th><td>${phaseName ?? 'init'} / ${stepName}</td>
<td class="n">${count}</td><td>${means ?? 'unknown error'}</td><td>${todo ?? 'Look at the person, then retry.'}</td></tr>
`,
  )
  const heads = columns('Error', 'Where', 'Times', 'What it means', 'What to do')
  return section(
    'failures',
    'Failures so far',
    table('What matoolkit knows about them.', heads, rows),
  )
}

/** A row must fit on a page. */
const ERROR_CHARS_MAX = 300
const cut = (text: string): string =>
  text.length > ERROR_CHARS_MAX ? `${text.slice(0, ERROR_CHARS_MAX)}…` : text

function commandsOf({ line, gates, windows }: RunSheet): Html {
  const gated = gates.find(({ phase }) => phase.gatePassedAt === null)?.phase.name ?? null
  const rows = nightCommands(line.id, gated, windows.length > 0).map(
    ([what, command]) =>
      html`<tr><th scope="row">${what}</th><td><pre>${command}</pre></td></tr>
`,
  )
  const caption = 'Most show what they would do first with --dry-run, and ask before they act.'
  return section('commands', 'Commands of the night', table(caption, columns('To', 'Type'), rows))
}

const unreachable = (): Html =>
  section(
    'unreachable',
    'When matoolkit cannot be reached',
    html`<ul>${UNREACHABLE.map((text) => html`<li>${text}</li>`)}</ul>`,
  )

const NOTES_LINES = 12
function notes(): Html {
  const blank = html`<td class="blank"></td>`
  const rows = Array.from(
    { length: NOTES_LINES },
    (_, at) => html`<tr><th scope="row">${at + 1}</th>${[blank, blank, blank, blank]}</tr>
`,
  )
  const caption =
    'What was done by hand, when and for which person. Tell matoolkit afterwards: mark the step as done.'
  const heads = columns('No.', 'When', 'Who', 'Person', 'What')
  return section('notes', 'Done by hand, and notes', table(caption, heads, rows))
}

/** Everybody who was not removed, by the first letter of the key, written page by page. */
async function* peopleOf({ people, phases, line }: RunSheet): AsyncGenerator<string> {
  const all = line.membersActive + line.membersFailed
  const names = phases.map(({ state }) => state.name)
  const [begin, end] = emptySection(
    'people',
    `People (${all.toLocaleString('en')})`,
    'A box for each phase: x passed, F failed, empty to do, when this was printed.',
    columns('Old address', 'Name', 'New address', ...names),
  )
  yield begin
  let letter: string | null = null
  for await (const page of people()) {
    const rows: Html[] = []
    for (const person of page) {
      const own = letterOf(person)
      if (own !== letter) rows.push(groupRow(own, names.length + 3))
      letter = own
      rows.push(personRow(person))
    }
    yield rows.map(htmlText).join('')
  }
  yield end
}

const letterOf = ({ old }: SheetPerson): string => {
  const [first = ''] = old[0] ?? ''
  return /\p{L}/u.test(first) ? first.toUpperCase() : '0–9'
}

const groupRow = (letter: string, width: number): Html =>
  html`<tr class="group"><th scope="rowgroup" colspan="${width}">${letter}</th></tr>
`

const lines = (texts: readonly string[]): Html[] =>
  texts.map((text, at) => html`${at === 0 ? null : html`<br>`}${cut(text)}`)

const personRow = ({ old, name, new: after, marks }: SheetPerson): Html =>
  html`<tr><th scope="row" class="key">${lines(old)}</th><td>${name === null ? null : cut(name)}</td><td class="key">${lines(after)}</td>${marks.map((mark) => html`<td>${BOXES[mark]}</td>`)}</tr>
`
