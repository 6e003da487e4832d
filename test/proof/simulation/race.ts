// Two results that end a phase's last two steps at the same moment, on two connections of a real server; PGlite has one connection
// and cannot show this. Each transaction stops before its first write until the other gets there or waits for a lock, so they meet
// every time.
import type { Db, Tx } from '../../../src/db/connection/db.ts'
import { type Message, readMessage } from '../../../src/domain/messages/messages.ts'
import { handleMessages } from '../../../src/orchestrator/messages.ts'
import type { TestDatabase } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { runbook, step } from '../../stories/looking.ts'
import { openWorld } from '../../stories/world.ts'

const WRITES = /^\s*(?:insert|update|delete|with)\b/i

/** A database whose transactions meet, `parties` of them, before they write. */
function meetingDb(db: Db, parties: number): Db {
  let arrived = 0
  const isBlocked = async () => {
    const rows = await db.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }
  const meet = async (): Promise<void> => {
    arrived += 1
    while (arrived < parties && !(await isBlocked()));
  }
  return {
    ...db,
    transaction: (work) =>
      db.transaction((tx) => {
        let met: Promise<void> | undefined
        const beforeWriting = async (sql: string): Promise<void> => {
          if (!WRITES.test(sql)) return
          met ??= meet()
          await met
        }
        const waiting: Tx = {
          ...tx,
          query: async (sql, values) => {
            await beforeWriting(sql)
            return tx.query(sql, values)
          },
          change: async (sql, values) => {
            await beforeWriting(sql)
            return tx.change(sql, values)
          },
        }
        return work(waiting)
      }),
  }
}

type Status = 'Success' | 'Failure'
const ENDS: Readonly<Record<Status, string>> = { Success: 'completed', Failure: 'failed' }

function result(jobId: string, status: Status): Message {
  const read = readMessage('worker-result', JSON.stringify({ jobId, status }))
  if (!read.ok) throw new Error(read.reason)
  return read.message
}

/** Violations after the race. Successes share the batch lock; failures need the exclusive one. */
export async function raceTwoResults(database: TestDatabase, status: Status): Promise<string[]> {
  const world = await openWorld({ database })
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
  await world.batch('wave', 2, { startsInMin: 60 })
  await world.orchestrate()
  const out = await world.db.query<{ id: string }>(`select job_id as id from waits order by job_id`)
  const engine = { ...world.engine, db: meetingDb(world.db, out.length) }
  await Promise.all(out.map(({ id }) => handleMessages(engine, [result(id, status)])))
  const batches = await world.db.query<{ status: string }>('select status from batches')
  const wrong = batches.filter((batch) => batch.status !== ENDS[status])
  return [
    ...(await brokenInvariants(world.db, world.clock.now())),
    ...wrong.map((batch) => `both have ended with ${status}, and the batch is ${batch.status}`),
  ]
}
