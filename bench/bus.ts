// The speed of the bus, and whether it lasts. First publish, receive and ack, one after the other and then concurrently, in chunks
// of 1, 100 and 500, on both databases. Then growth: the cost of a chunk of 500 on top of more and more stored messages, and after
// many have passed, with dead rows and index sizes. Growth is a ratio to a fresh database, measured in turns, so a busy machine
// slows both. The server syncs every commit to disk; PGlite, in a folder, never does.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../src/base/run/clock.ts'
import { type OutgoingMessage, type ReceivedMessage, WORKER_RESULTS } from '../src/bus/bus.ts'
import { openPostgresBus, type PostgresBus } from '../src/bus/postgres/postgres-bus.ts'
import type { Db } from '../src/db/connection/db.ts'
import { openPglite } from '../src/db/connection/pglite.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { migrate } from '../src/db/schema/migrate.ts'
import { vacuumEmbedded } from '../src/db/schema/vacuum.ts'
import { jobIdOf, messageIdOf } from '../src/domain/messages/messages.ts'
import { startPostgres } from '../test/kit/postgres-server.ts'
import { type Bench, median, perSec, round, timeMs } from './bench.ts'

type Say = (line: string) => void

interface Opened {
  readonly db: Db
  /** A second database to compare with. */
  readonly fresh: Db
  close(): Promise<void>
}

interface Plan {
  readonly kind: Db['kind']
  readonly open: () => Promise<Opened>
  /** Producers, and as many consumers. PGlite has one connection: more would only queue. */
  readonly lanes: number
  readonly backlogs: readonly number[]
  readonly through: number
}

/** Messages per measurement by chunk size: seconds of work at 500, not minutes at 1. */
const MESSAGES = new Map([
  [1, 1_000],
  [100, 40_000],
  [500, 100_000],
])
const CHUNK = 500
const LOAD_CHUNK = 1_000
const GROWTH_ROUNDS = 40
const SWEEP_EVERY = 50_000
const clock = realClock()

const PLANS: readonly Plan[] = [
  {
    kind: 'postgres',
    open: openServer,
    lanes: 2,
    backlogs: [0, 100_000, 1_000_000],
    through: 1_000_000,
  },
  { kind: 'pglite', open: openFolder, lanes: 1, backlogs: [0, 100_000], through: 300_000 },
]

export const busBench: Bench = {
  name: 'bus',
  about:
    'publish, receive and ack rates by chunk, and growth with stored messages, on both databases',
  run: async (say) => {
    const figures: Record<string, unknown> = {}
    for (const plan of PLANS) {
      const opened = await plan.open()
      try {
        figures[plan.kind] = await measure(plan, opened, say)
      } finally {
        await opened.close()
      }
    }
    return figures
  },
}

async function openServer(): Promise<Opened> {
  const server = await startPostgres({ durable: true })
  const db = await openPostgres({ url: server.url })
  await db.query('create database fresh')
  const freshUrl = Object.assign(new URL(server.url), { pathname: '/fresh' })
  const fresh = await openPostgres({ url: freshUrl.href })
  const close = async () => {
    await Promise.all([db.close(), fresh.close()])
    server.destroy()
  }
  return { db, fresh, close }
}

async function openFolder(): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-bench-'))
  const db = await openPglite(join(folder, 'used'))
  const fresh = await openPglite(join(folder, 'fresh'))
  const close = async () => {
    await Promise.all([db.close(), fresh.close()])
    rmSync(folder, { recursive: true, force: true })
  }
  return { db, fresh, close }
}

async function openBus(db: Db): Promise<PostgresBus> {
  await migrate(db, clock.now())
  return openPostgresBus({ db, clock, newToken: randomUUID })
}

async function measure(plan: Plan, opened: Opened, say: Say): Promise<Record<string, unknown>> {
  const bus = await openBus(opened.db)
  const fresh = await openBus(opened.fresh)
  const chunks: Record<string, unknown> = {}
  // The first run also warms up the program and the database; its figures are discarded.
  await rates(bus, CHUNK, 10_000, plan.lanes)
  for (const [chunk, count] of MESSAGES) {
    const found = await rates(bus, chunk, count, plan.lanes)
    chunks[chunk] = found
    say(`${plan.kind}, chunks of ${chunk}: ${JSON.stringify(found)}`)
  }
  return { chunks, growth: await growthOf(plan, opened.db, bus, fresh, say) }
}

async function rates(bus: PostgresBus, chunk: number, count: number, lanes: number) {
  const cost = { publishMs: 0, receiveMs: 0, ackMs: 0 }
  for (let done = 0; done < count; done += chunk) {
    const one = await timeChunk(bus, chunk)
    cost.publishMs += one.publishMs
    cost.receiveMs += one.receiveMs
    cost.ackMs += one.ackMs
  }
  const throughMs = await timeMs(() => passThrough(bus, count, chunk, lanes))
  return {
    publishPerSec: perSec(count, cost.publishMs),
    receivePerSec: perSec(count, cost.receiveMs),
    ackPerSec: perSec(count, cost.ackMs),
    throughEndToEndPerSec: perSec(count, throughMs),
  }
}

/** Producers and consumers run concurrently until `count` messages are sent, received and acknowledged. */
async function passThrough(bus: PostgresBus, count: number, chunk: number, lanes: number) {
  let toSend = count
  let acknowledged = 0
  const produce = async () => {
    while (toSend > 0) {
      const size = Math.min(chunk, toSend)
      toSend -= size
      await bus.publish(results(size))
    }
  }
  const consume = async () => {
    while (acknowledged < count) {
      const messages = await bus.receive(WORKER_RESULTS, chunk)
      await bus.ack(messages)
      acknowledged += messages.length
      // A consumer that finds nothing would wait for a hint; here it lets the producers run.
      if (messages.length === 0) await clock.wait(1)
    }
  }
  await Promise.all([...Array(lanes)].flatMap(() => [produce(), consume()]))
}

async function growthOf(plan: Plan, db: Db, bus: PostgresBus, fresh: PostgresBus, say: Say) {
  const backlog: Record<string, unknown> = {}
  let stored = 0
  for (const target of plan.backlogs) {
    for (; stored < target; stored += LOAD_CHUNK) await bus.publish(results(LOAD_CHUNK))
    backlog[target] = await comparedWith(fresh, bus)
    say(`${plan.kind}, on ${target} stored: ${JSON.stringify(backlog[target])}`)
  }
  await emptied(bus)
  for (let done = 0; done < plan.through; done += SWEEP_EVERY) {
    await passThrough(bus, SWEEP_EVERY, CHUNK, plan.lanes)
    await bus.sweep()
    await vacuumEmbedded(db)
  }
  const after = await comparedWith(fresh, bus)
  say(`${plan.kind}, after ${plan.through} went through: ${JSON.stringify(after)}`)
  const storage = await storageOf(db)
  for (const line of storage) say(`  ${JSON.stringify(line)}`)
  return { backlog, afterThrough: { messages: plan.through, ...after }, storage }
}

interface ChunkCost {
  readonly publishMs: number
  readonly receiveMs: number
  readonly ackMs: number
}

async function timeChunk(bus: PostgresBus, size: number): Promise<ChunkCost> {
  const send = results(size)
  let taken: ReceivedMessage[] = []
  const publishMs = await timeMs(() => bus.publish(send))
  const receiveMs = await timeMs(async () => {
    taken = await bus.receive(WORKER_RESULTS, size)
  })
  return { publishMs, receiveMs, ackMs: await timeMs(() => bus.ack(taken)) }
}

/** The median cost of a chunk of 500, and its ratio to the fresh database's. The number of stored messages stays the same. */
async function comparedWith(fresh: PostgresBus, bus: PostgresBus): Promise<Record<string, number>> {
  const here: ChunkCost[] = []
  const there: ChunkCost[] = []
  for (let done = 0; done < GROWTH_ROUNDS; done += 1) {
    there.push(await timeChunk(fresh, CHUNK))
    here.push(await timeChunk(bus, CHUNK))
  }
  const middle = (costs: ChunkCost[], part: keyof ChunkCost) =>
    median(costs.map((cost) => cost[part]))
  const sum = (costs: ChunkCost[]) =>
    median(costs.map((cost) => cost.publishMs + cost.receiveMs + cost.ackMs))
  return {
    publishMs: round(middle(here, 'publishMs')),
    receiveMs: round(middle(here, 'receiveMs')),
    ackMs: round(middle(here, 'ackMs')),
    ratioToFresh: round(sum(here) / sum(there)),
  }
}

async function emptied(bus: PostgresBus): Promise<void> {
  for (;;) {
    const messages = await bus.receive(WORKER_RESULTS, LOAD_CHUNK)
    if (messages.length === 0) return
    await bus.ack(messages)
  }
}

/** Tables including their TOAST data, where most of a bundle lies. */
const storageOf = (db: Db) =>
  db.query(`
    select c.relname as name, pg_table_size(c.oid) / 1024 as size_kb, s.n_live_tup as live,
           s.n_dead_tup as dead, s.autovacuum_count + s.vacuum_count as vacuums
    from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
    where c.relname ~ '^(bundles|message_ids)' and c.relkind in ('r', 'i')
    order by 1`)

let made = 0
const results = (count: number): OutgoingMessage[] => Array.from({ length: count }, result)

/** A result such as a worker sends, with some 430 bytes of body. */
function result(): OutgoingMessage {
  const stepId = ++made
  const jobId = jobIdOf({ kind: 'phase', stepId, attempt: 1, poll: 0, epoch: '' })
  const data = { UserId: 'abc-123-def-456', Upn: 'someone@contoso.example' }
  const ofRunbook = { runbookName: 'contoso-mailbox-migration', runbookVersion: 3 }
  return {
    topic: 'worker-results',
    messageId: messageIdOf.workerResult(jobId),
    type: 'worker-result',
    body: {
      jobId,
      batchId: 42,
      workerId: 'cloud-worker-1',
      functionName: 'New-EntraUser',
      status: 'Success',
      resultType: 'Object',
      result: { complete: true, data },
      error: null,
      durationMs: 1_234,
      timestamp: '2026-03-15T10:30:00.000Z',
      correlationData: { stepExecutionId: stepId, isInitStep: false, ...ofRunbook },
    },
  }
}
