// `matoolkit batch rehearse --compare`: reads a running batch through the API, rehearses it as it is and with a change on this machine, and shows the
// difference.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import { listOf, namesInFile } from '../../cli/commands/batch/select-people.ts'
import { inHome } from '../../cli/connection/home.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../../cli/program/command-context.ts'
import type { Column } from '../../cli/terminal/show.ts'
import { openDisposable } from '../../db/schema/disposable-pglite.ts'
import { slotsAsTheyAre, type WhatIf, whatIfProblem } from '../../domain/plan/what-if.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import { readTenants } from './command.ts'
import { FAULT_NAMES, namedFaults } from './faults.ts'
import { readLiveBatch } from './live-batch.ts'
import { rehearseWhatIf } from './what-if.ts'
import { differenceText, type WhatIfReport } from './what-if-report.ts'

export interface WhatIfFlags {
  readonly slots: Pick<WhatIf, 'slots' | 'workerSlots'>
  readonly people: number | null
  readonly seed: number
}

export async function runWhatIf(
  context: CommandContext,
  id: string | undefined,
  { slots, people, seed }: WhatIfFlags,
): Promise<void> {
  const { io, flags } = context
  const change: WhatIf = { ...slots, people, ...(await namedChanges(flags)) }
  const tenant = textFlag(flags, 'tenant')
  const tenantSeed = tenant === undefined ? null : await readTenants(tenant)
  const live = await readLiveBatch(context, id, io.now())
  const { workerSlots, assumed } = await readSlots(context, live.runbook)
  const keys = live.people.map(({ key }) => key)
  const problem = whatIfProblem(change, { workerSlots, keys })
  if (problem !== null)
    throw new MatoolkitError('WHAT_IF_UNFIT', { batchId: live.past.batchId, reason: problem })
  io.progress('Rehearsing the batch as it is and with the change …')
  const report = await rehearseWhatIf({
    ...live,
    change,
    tenantSeed,
    seed,
    workerSlots,
    assumed,
    openDatabase: () => openDisposable(inHome('templates')),
  })
  io.progress('')
  await showWhatIf(context, report)
}

async function namedChanges(flags: Flags): Promise<Pick<WhatIf, 'without' | 'faults'>> {
  const faults = textFlag(flags, 'faults')
  const named = faults === undefined ? { use: [] } : namedFaults(faults)
  if (!named)
    throw new MatoolkitError('REHEARSAL_FAULTS_INVALID', {
      reason: `"${faults}" is not a list of known faults`,
      known: FAULT_NAMES,
    })
  const without = [
    ...listOf(textFlag(flags, 'without'), '--without'),
    ...(await namesInFile(textFlag(flags, 'withoutFile'))),
  ]
  return { without, faults: named.use ?? [] }
}

/** As the workers announced them. */
async function readSlots({ client }: CommandContext, runbook: Runbook) {
  const { workers } = await client.call('GET /api/workers')
  return slotsAsTheyAre(runbook, workers)
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
