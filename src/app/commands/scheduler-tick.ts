// `matoolkit scheduler tick`: opens the database, runs the ticks and prints what each did.
import { randomUUID } from 'node:crypto'
import type { Io } from '../../cli/terminal/io.ts'
import { openShow } from '../../cli/terminal/output.ts'
import type { Column, OutputFormat, Row } from '../../cli/terminal/show.ts'
import { realClock } from '../../clock.ts'
import { loadConfig } from '../../config.ts'
import { listAutomatedRunbooks } from '../../db/ticks.ts'
import type { Json } from '../../domain/json.ts'
import { EXIT, MatoolkitError } from '../../errors.ts'
import { sourceAccessFrom } from '../../scheduler/sources/source.ts'
import { type TickOptions, type TickReport, tick } from '../../scheduler/tick.ts'
import { openRuntime } from '../runtime.ts'

export interface TickFlags {
  readonly runbook?: string
  readonly output?: OutputFormat
}

const REPORTS: readonly Column[] = [
  ['RUNBOOK', 'runbookName', 'whole'],
  ['TICK', 'outcome'],
  ['WHAT IT DID', ({ error, counts }) => error ?? changesText(counts as Row)],
]

const changesText = (counts: Row): string =>
  Object.entries(counts)
    .map(([what, count]) => `${Number(count)} ${what}`)
    .join(', ') || 'nothing changed'

export async function runTicks(
  { runbook, output }: TickFlags,
  io: Io,
  stopping: AbortSignal,
): Promise<void> {
  const show = openShow(output, io)
  const config = loadConfig()
  const clock = realClock()
  const { db, engine, close } = await openRuntime({ config, clock })
  try {
    const options: TickOptions = {
      engine,
      sources: sourceAccessFrom(config, clock),
      intervalMs: config.tickIntervalSec * 1_000,
      newToken: randomUUID,
      startedBy: 'command line',
      evenIfNotDue: true,
    }
    const names = runbook === undefined ? await listAutomatedRunbooks(db) : [runbook]
    const reports: TickReport[] = []
    const alreadyRunning: string[] = []
    for (const name of names) {
      if (stopping.aborted) break
      const report = await tick(options, name, stopping)
      if (report) reports.push(report)
      else alreadyRunning.push(name)
    }
    if (reports.some(({ outcome }) => outcome !== 'good')) io.exitCode = EXIT.failed
    if (stopping.aborted) io.exitCode = EXIT.interrupted
    const rows = reports as unknown as Row[]
    const empty = 'No runbook has automation on.'
    if (rows.length > 0 || alreadyRunning.length === 0) {
      await show.list({ whole: rows as unknown as Json, rows, columns: REPORTS, empty })
    }
    // Thrown last, so that the results of the other ticks are printed.
    if (alreadyRunning.length > 0) {
      throw new MatoolkitError('TICK_RUNNING', { name: alreadyRunning.join(', ') })
    }
  } finally {
    await close()
  }
}
