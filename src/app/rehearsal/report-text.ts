// The report of a rehearsal on a terminal: the verdict first, then its reasons, then tables.

import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import { printable } from '../../base/text/printable.ts'
import { type Io, inViewersZone, type Style } from '../../cli/terminal/io.ts'
import type { Column, ColumnValue, Show } from '../../cli/terminal/show.ts'
import { textOfHtml } from '../../domain/member-messages/shown-html.ts'
import { statesText } from '../../domain/state/person-state.ts'
import { messageNotes } from './messages.ts'
import {
  type RehearsalReport,
  resultText,
  type TimelinePhase,
  type Verdict,
  windowWaitText,
} from './report.ts'

const STYLES: Readonly<Record<Verdict, Style>> = {
  ready: 'green',
  'ready with warnings': 'yellow',
  'not ready': 'red',
}

const TIMELINE: readonly Column<TimelinePhase>[] = [
  ['BATCH', 'batchId'],
  ['PHASE', 'phase', 'whole'],
  ['DUE', 'dueAt', 'whole'],
  ['MEMBERS', 'members'],
  ['FAILED', 'failed'],
  ['P50', seconds('p50Sec')],
  ['P95', seconds('p95Sec')],
  ['WORST', seconds('worstSec')],
  ['GAP', seconds('gapSec')],
  ['RESULT', resultText],
  ['10× MEMBERS', seconds('tenTimesSec'), 'spare'],
  ['WINDOW WAIT', seconds('windowWaitSec'), 'spare'],
]

const SERVICES: readonly Column<RehearsalReport['calls']['services'][number]>[] = [
  ['API', 'service', 'whole'],
  ['CALLS', 'calls'],
  ['PEAK A SECOND', 'peakPerSec'],
  ['PEAK AT', 'peakAt', 'spare'],
  ['THROTTLED', 'throttled'],
  ['TIME THROTTLED', seconds('throttledSec')],
]

const MESSAGES: readonly Column<RehearsalReport['messages']['sent'][number]>[] = [
  ['PHASE', 'phase', 'whole'],
  ['STEP', 'step', 'spare'],
  ['MESSAGE', 'message', 'whole'],
  ['LANGUAGE', 'language'],
  ['SENT', 'sent'],
  ['CORRECTIONS', 'corrections'],
  ['FIRST', 'firstAt'],
  ['LAST', 'lastAt', 'spare'],
]

const UNRUN: readonly Column<RehearsalReport['neverRan'][number]>[] = [
  ['WHERE', 'where'],
  ['STEP', 'step'],
]

const OPERATIONS: readonly Column<RehearsalReport['calls']['operations'][number]>[] = [
  ['API', 'service', 'spare'],
  ['CALL', 'operation'],
  ['CALLS', 'calls', 'whole'],
]
const OPERATIONS_SHOWN = 10

/** CSV has seconds, a table says them. */
function seconds<R>(value: ColumnValue<R>): Column<R>[1] {
  return {
    value,
    say: (sec) => (typeof sec === 'number' ? durationText(sec * 1_000) : sec),
  }
}

/** All formats: JSON and YAML have the whole report, CSV the timeline. */
export async function showRehearsal(report: RehearsalReport, show: Show, io: Io): Promise<void> {
  const whole = report
  const { timeline } = report
  if (show.format !== 'table') {
    await show.list({ whole, rows: timeline, columns: TIMELINE, empty: '' })
    return
  }
  const table = async <R>(title: string, rows: readonly R[], columns: readonly Column<R>[]) => {
    if (rows.length === 0) return
    io.out(`\n${io.paint('bold', title)}`)
    await show.list({ whole, rows, columns, empty: '' })
  }
  sayVerdict(report, io)
  await table('Timeline', timeline, TIMELINE)
  if (report.windowWaitSec > 0) io.out(`In all, phases ${windowWaitText(report)}.`)
  sayFailures(report, io)
  sayRollbacks(report, io)
  sayUndo(report, io)
  sayNotifications(report, io)
  // A report of an earlier release has none.
  await table('Messages', report.messages?.sent ?? [], MESSAGES)
  sayMessages(report, io)
  await table('Steps that never ran', report.neverRan, UNRUN)
  await table('Calls', report.calls.services, SERVICES)
  await table('Most frequent calls', report.calls.operations.slice(0, OPERATIONS_SHOWN), OPERATIONS)
  sayTenants(report, io)
}

function sayVerdict(report: RehearsalReport, io: Io): void {
  const { verdict, reasons, warnings, members, startedAt, endedAt, runbook, seed, events } = report
  const style = STYLES[verdict]
  const faults = report.faults.length > 0 ? ` with the faults ${report.faults.join(', ')}` : ''
  io.out(`${io.paint('bold', printable(runbook))}: ${io.paint(style, verdict)}${faults}`)
  const days = durationText(Date.parse(endedAt) - Date.parse(startedAt))
  const people = `${countText(members.total, 'member')} in ${countText(report.batches.length, 'batch', 'batches')}`
  const line = `${people}: ${statesText(members)}. ${days} from ${startedAt}, seed ${seed}.`
  io.out(inViewersZone(io, line))
  for (const reason of reasons) io.out(`  ${io.paint('red', '✗')} ${printable(reason)}`)
  for (const warning of warnings) io.out(`  ${io.paint('yellow', '!')} ${printable(warning)}`)
  if (events.length === 0) return
  io.out(`\n${io.paint('bold', 'Faults')}`)
  for (const { at, what } of events) io.out(inViewersZone(io, `  ${at} ${printable(what)}`))
}

function sayFailures({ failures }: RehearsalReport, io: Io): void {
  if (failures.length === 0) return
  io.out(`\n${io.paint('bold', 'Failures')}`)
  for (const { kind, phase, step, count, message, remedy, people } of failures) {
    const where = phase === null ? kind : `phase ${phase}`
    io.out(printable(`  ${countText(count, 'time')} in step ${step} of ${where}: ${message}`))
    if (people.length > 0) {
      const more = count > people.length ? ` and ${count - people.length} more` : ''
      io.out(printable(`    ${people.join(', ')}${more}`))
    }
    if (remedy !== null) io.out(printable(`    ${remedy}`))
  }
}

const PEOPLE_SHOWN = 10

function sayRollbacks({ rollbacks }: RehearsalReport, io: Io): void {
  const { ran, notRestored } = rollbacks
  if (ran === 0) return
  io.out(`\n${io.paint('bold', 'Rollbacks')}`)
  const restored = ran - notRestored.length
  io.out(`  ${countText(ran, 'rollback')} ran, ${restored} restored the tenant.`)
  for (const { member, phase, failedStep, differences } of notRestored.slice(0, PEOPLE_SHOWN)) {
    io.out(printable(`  ${member}, after step ${failedStep} of phase ${phase}:`))
    for (const difference of differences) io.out(printable(`    ${difference}`))
  }
  const more = notRestored.length - PEOPLE_SHOWN
  if (more > 0) io.out(`  ${countText(more, 'person', 'people')} more: --output json has all.`)
}

/** What an undo of the batch would leave: docs/cut-over-night.md. */
function sayUndo({ staysAfterUndo }: RehearsalReport, io: Io): void {
  if (staysAfterUndo.length === 0) return
  io.out(`\n${io.paint('bold', 'What an undo would leave')}`)
  for (const { phase, step, why, isPointOfNoReturn, count } of staysAfterUndo) {
    const where = phase === null ? `init step ${step}` : `step ${step} of phase ${phase}`
    const mark = isPointOfNoReturn ? ' The point of no return.' : ''
    io.out(printable(`  ${where}, ${countText(count, 'time')}: ${why}${mark}`))
  }
}

const MESSAGES_SHOWN = 10

/** Who would have been told what: docs/notifications.md. */
function sayNotifications({ notifications }: RehearsalReport, io: Io): void {
  const { conditions, channels, messages, hasSettings } = notifications
  if (conditions.length === 0) return
  const say = (line: string) => io.out(inViewersZone(io, printable(`  ${line}`)))
  const rules = hasSettings ? 'the runbook and the settings' : 'the runbook'
  io.out(`\n${io.paint('bold', 'Notifications')}`)
  say(`By the rules of ${rules}. Nothing was sent.`)
  for (const { kind, opened, cleared, firstAt, example, channels: told } of conditions) {
    const ended = cleared === null ? '' : `, ${cleared} cleared`
    say(`${kind}, ${countText(opened, 'time')}${ended}: ${told.join(', ') || 'no one is told'}`)
    say(`  ${firstAt} ${example}.`)
  }
  for (const { channel, messages: count, firstAt, lastAt } of channels)
    say(
      `${channel} gets ${countText(count, 'message')}: ${count === 1 ? firstAt : `${firstAt} to ${lastAt}`}`,
    )
  for (const { dueAt, channel, says } of messages.slice(0, MESSAGES_SHOWN))
    say(`  ${dueAt} ${channel}: ${says.join('; ')}`)
  if (messages.length > MESSAGES_SHOWN) say('  --output json has more.')
}

/** How long the mailbox sends, and the first example of each message. */
function sayMessages({ messages }: RehearsalReport, io: Io): void {
  if (!messages) return
  for (const note of messageNotes(messages)) io.out(printable(`  ${note}.`))
  for (const { message, language, member, to, subject, body, isHtml } of messages.examples) {
    io.out(printable(`\n  ${message} (${language}), to ${member} at ${to}: ${subject}`))
    const text = isHtml ? textOfHtml(body) : body
    for (const line of text.trim().split('\n')) io.out(printable(`    ${line.trim()}`))
  }
}

function sayTenants({ tenants, assumptions }: RehearsalReport, io: Io): void {
  io.out(`\n${io.paint('bold', 'Tenants')}`)
  for (const { name, domains, users, groups } of tenants)
    io.out(
      printable(
        `  ${name}: ${countText(users, 'user')} and ${countText(groups, 'group')} at the start; ${domains.join(', ')}`,
      ),
    )
  for (const assumption of assumptions) io.out(printable(`  ${assumption}`))
}
