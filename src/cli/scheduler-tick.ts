// `matoolkit scheduler tick`: opens the database, ticks, says what each tick did.
import { randomUUID } from 'node:crypto'
import { realClock } from '../clock.ts'
import { type Config, loadConfig } from '../config.ts'
import type { Db } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { openPglite } from '../db/pglite.ts'
import { openPostgres } from '../db/postgres.ts'
import { listAskedRunbooks } from '../db/ticks.ts'
import { followDatabaseTime } from '../db/time.ts'
import { RunbookCache } from '../engine/runbook-cache.ts'
import { EXIT, MatoolkitError } from '../errors.ts'
import { sourcesFrom } from '../scheduler/access.ts'
import { type TickOptions, type TickReport, tick } from '../scheduler/tick.ts'
import { type Io, printable, tableText } from './io.ts'

export interface TickByHand {
  readonly runbook?: string
  readonly output: 'table' | 'json'
}

export async function tickByHand(
  { runbook, output }: TickByHand,
  io: Io,
  stopping: AbortSignal,
): Promise<void> {
  const config = loadConfig()
  const db = await openDatabase(config)
  try {
    const options = await tickOptions(db, config)
    const names = runbook === undefined ? await listAskedRunbooks(db) : [runbook]
    const reports: TickReport[] = []
    for (const name of names) {
      if (stopping.aborted) break
      const report = await tick(options, name, stopping)
      if (!report) throw new MatoolkitError('TICK_RUNNING', { name })
      reports.push(report)
    }
    say(reports, output, io)
  } finally {
    await db.close()
  }
}

const openDatabase = ({
  databaseUrl,
  dataDir,
  poolSize,
  statementTimeoutSec,
}: Config): Promise<Db> =>
  databaseUrl === null
    ? openPglite(dataDir)
    : openPostgres({
        url: databaseUrl,
        poolSize,
        statementTimeoutMs: statementTimeoutSec * 1000,
      })

async function tickOptions(db: Db, config: Config): Promise<TickOptions> {
  const clock = realClock()
  await followDatabaseTime(db, clock, config.maxClockSkewSec * 1000)
  await migrate(db, clock.now())
  return {
    door: {
      db,
      clock,
      runbooks: new RunbookCache(),
      random: Math.random,
      maxOutstanding: config.maxOutstanding,
      canWithdraw: true,
    },
    sources: sourcesFrom(config, clock),
    intervalMs: config.tickIntervalSec * 1000,
    newToken: randomUUID,
    startedBy: 'command line',
    evenIfNotDue: true,
  }
}

function say(reports: readonly TickReport[], output: 'table' | 'json', io: Io): void {
  if (reports.some(({ outcome }) => outcome !== 'good')) io.exitCode = EXIT.failed
  if (output === 'json') return io.out(JSON.stringify(reports))
  if (reports.length === 0) return io.out('No runbook has its automation on.')
  const rows = reports.map(({ runbookName, outcome, counts, error }) => [
    runbookName,
    outcome,
    printable(error ?? (countsText(counts) || 'nothing has changed')),
  ])
  io.out(tableText([['RUNBOOK', 'TICK', 'WHAT IT DID'], ...rows]))
}

const countsText = (counts: TickReport['counts']): string =>
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
