// `matoolkit batch rehearse`: the API rehearses a running batch, once or as it is and with a change. This waits for its report and shows it.

import type { Answer, RequestOf } from '../../api/client/endpoints.ts'
import { EXIT, MatoolkitError } from '../../base/errors/errors.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import { listOf, namesInFile } from '../../cli/commands/batch/select-people.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  textFlag,
  usageError,
} from '../../cli/program/command-context.ts'
import type { Column } from '../../cli/terminal/show.ts'
import type { WhatIf } from '../../domain/plan/what-if.ts'
import { FAULT_NAMES, faultOfPast, namedFaults } from './faults.ts'
import type { RehearsalReport } from './report.ts'
import { showRehearsal } from './report-text.ts'
import { differenceText, type WhatIfReport } from './what-if-report.ts'

export interface ChangeFlags {
  readonly slots: Pick<WhatIf, 'slots' | 'workerSlots'>
  readonly people: number | null
  readonly seed: number
}

type Report = Answer<'GET /api/rehearsals/{rehearsalId}'>['report']

const LOOK_EVERY_MS = 1_000

export async function runRehearseBatch(
  context: CommandContext,
  id: string | undefined,
  { slots: { slots, workerSlots }, people, seed }: ChangeFlags,
): Promise<void> {
  const { io, show, flags } = context
  const compare = flags.compare === true
  const body = {
    ...{ compare, seed, workerSlots: { ...workerSlots }, ...(await namedChanges(flags)) },
    ...(slots !== null && { slots }),
    ...(people !== null && { people }),
  }
  const report = await rehearsed(context, idOf('batch', id), body)
  if (report === null) return
  if (compare) return showWhatIf(context, report as unknown as WhatIfReport)
  const { verdict } = report as unknown as RehearsalReport
  await showRehearsal(report as unknown as RehearsalReport, show, io)
  io.exitCode = verdict === 'not ready' ? EXIT.failed : EXIT.ok
}

/** Null: it has no report, and the reason was told. */
async function rehearsed(
  { client, clock, io }: CommandContext,
  batchId: number,
  body: NonNullable<RequestOf<'POST /api/batches/{batchId}/what-if'>['body']>,
): Promise<Report | null> {
  const given = { params: { batchId }, body }
  const { id: rehearsalId } = await client.call('POST /api/batches/{batchId}/what-if', given)
  for (;;) {
    const params = { rehearsalId }
    const found = await client.call('GET /api/rehearsals/{rehearsalId}', { params })
    const { status, at, because, report } = found
    if (status === 'running') {
      io.progress(`Rehearsal ${rehearsalId} runs next to the API: ${at ?? 'it begins'} …`)
      await clock.wait(LOOK_EVERY_MS)
      continue
    }
    io.progress('')
    if (status === 'completed') return report
    io.err(printable(`Rehearsal ${rehearsalId} ${status}: ${because}`))
    io.exitCode = EXIT.failed
    return null
  }
}

async function namedChanges(flags: Flags) {
  const faults = textFlag(flags, 'faults')
  const named = faults === undefined ? null : namedFaults(faults)
  const late = named && faultOfPast(named)
  if (late || (faults !== undefined && !named))
    throw new MatoolkitError('REHEARSAL_FAULTS_INVALID', {
      reason: late
        ? `"${late}" would change what has been done`
        : `"${faults}" is not a list of known faults`,
      known: FAULT_NAMES,
    })
  const without = [
    ...listOf(textFlag(flags, 'without'), '--without'),
    ...(await namesInFile(textFlag(flags, 'withoutFile'))),
  ]
  return { without, faults: [...(named?.use ?? [])] }
}

const COLUMNS: readonly Column<WhatIfReport['phases'][number]>[] = [
  ['PHASE', 'phase', 'whole'],
  ['DUE', 'dueAt', 'whole'],
  ['ENDS AS IT IS', 'asItIs.endedAt', 'whole'],
  ['WITH THE CHANGE', 'changed.endedAt', 'whole'],
  [
    'DIFFERENCE',
    {
      value: 'savedSec',
      say: (saved) => (typeof saved === 'number' ? differenceText(saved) : saved),
    },
  ],
  ['MISSED AS IT IS', 'asItIs.misses'],
  ['MISSED WITH IT', 'changed.misses'],
  ['FAILED AS IT IS', 'asItIs.failed', 'spare'],
  ['FAILED WITH IT', 'changed.failed', 'spare'],
]

async function showWhatIf({ show, io }: CommandContext, report: WhatIfReport): Promise<void> {
  const good = report.changed.verdict !== 'not ready'
  show.say(printable(report.headline), good ? 'green' : 'yellow')
  show.say('')
  await show.list({
    whole: report,
    rows: report.phases,
    columns: COLUMNS,
    empty: 'No phase is left.',
  })
  if (show.format !== 'table') return
  const slots = Object.entries(report.asItIs.workerSlots).map(
    ([worker, count]) => `${count} of ${worker}`,
  )
  show.say(
    `\nAs it is: ${countText(report.asItIs.members.total, 'person', 'people')}, slots ${slots.join(', ')}.`,
  )
  for (const reason of report.changed.reasons)
    io.out(`  ${io.paint('red', '✗')} With the change: ${printable(reason)}`)
  for (const assumption of report.assumptions) io.out(`  ${printable(assumption)}`)
}

/** `16` of every worker, or `contoso-worker=16,fabrikam-worker=8`. */
export function slotsFlag(
  given: string | undefined,
  max: number,
): Pick<WhatIf, 'slots' | 'workerSlots'> {
  if (given === undefined) return { slots: null, workerSlots: {} }
  const count = (text: string) => {
    if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= max) return Number(text)
    throw usageError(
      `--slots is "${given}", but must be a number from 1 to ${max}, or such numbers by worker: contoso-worker=16,fabrikam-worker=8.`,
    )
  }
  if (!given.includes('=')) return { slots: count(given.trim()), workerSlots: {} }
  const pairs = given.split(',').map((pair) => {
    const at = pair.lastIndexOf('=')
    return [pair.slice(0, at).trim(), count(pair.slice(at + 1).trim())] as const
  })
  return { slots: null, workerSlots: Object.fromEntries(pairs) }
}
