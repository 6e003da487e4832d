// Operators who create small batches, hold, resume, retry, remove and cancel without a pause, and record every answered action
// before the next. An action that ended in an error may or may not have happened (the connection can drop during the commit), so it
// counts as unanswered. When they stop, they resume what they hold.

import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { isTransient } from '../../../src/base/errors/transient.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import { everyLoop, type Service } from '../../../src/base/run/service.ts'
import { cancelBatch, holdBatch, resumeBatch } from '../../../src/engine/orders/batch-actions.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import {
  removeMembers,
  retryMembers,
  setMemberVariable,
} from '../../../src/engine/orders/member-actions.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { seeded } from '../../kit/seeded.ts'
import type { Journal } from './journal.ts'
import { LARGE, SMALL } from './runbooks.ts'

export interface OperatorsOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly seed: number
  readonly acknowledged: Journal<'acknowledged'>
  readonly onError: (error: unknown) => void
}

/** The average time between two actions. */
const ORDER_EVERY_MS = 100
const MEMBERS_A_BATCH = 10
const UNFINISHED_MAX = 5
/** Prefix of their names: a hold by anyone else means that something went wrong. */
export const OPERATOR = 'operator'

interface Found {
  readonly batchId: number
  readonly memberId: number
}

/** Acts on a target it finds, as `actor`. Null if there is none. */
type Give = (actor: string, pick: Pick) => Promise<{ batchId: number } | null>
type Pick = (limit: number) => number

export function makeOperators(options: OperatorsOptions): Service {
  const { engine, clock, seed, acknowledged, onError } = options
  const pick = seeded(seed)
  const orders = ordersOf(engine)
  const names = orders.flatMap(({ name, weight }) => Array<string>(weight).fill(name))
  let given = 0
  const giveOne = async () => {
    const name = names[pick(names.length)]!
    given += 1
    const actor = `${OPERATOR}-${process.pid}-${given}`
    try {
      const done = await orders.find((order) => order.name === name)!.give(actor, pick)
      if (done) acknowledged.write({ actor, what: name, batchId: done.batchId, at: Date.now() })
    } catch (error) {
      if (!isRefusal(error)) throw error
    }
  }
  const loop = everyLoop({
    name: 'operators',
    clock,
    intervalMs: ORDER_EVERY_MS,
    runOnce: giveOne,
    onError,
  })
  return {
    name: loop.name,
    start: loop.start,
    stop: async (giveUp) => {
      await loop.stop(giveUp)
      await resumeAll(engine, clock, onError, giveUp)
    },
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof MatoolkitError && ['REFUSED', 'BATCH_EXISTS'].includes(error.code)

/** Repeats until it succeeds: nobody else would resume it. */
async function resumeAll(
  engine: Engine,
  clock: Clock,
  onError: (error: unknown) => void,
  giveUp?: AbortSignal,
): Promise<void> {
  while (!giveUp?.aborted) {
    try {
      for (const { id } of await heldByUs(engine)) {
        await resumeBatch(engine, { batchId: id, actor: `${OPERATOR}-last`, reason: 'going home' })
      }
      return
    } catch (error) {
      if (!isTransient(error) && !isRefusal(error)) throw error
      onError(error)
      await clock.wait(ORDER_EVERY_MS)
    }
  }
}

const heldByUs = (engine: Engine) =>
  engine.db.query<{ id: number }>(`select id from batches where held_by like '${OPERATOR}%'`)

const unfinished = (engine: Engine, runbook: string) =>
  engine.db.query<{ id: number }>(
    `select id from batches where runbook_name = $1 and status in ('detected', 'init_dispatched', 'active') and held_at is null`,
    [runbook],
  )

async function findMember(
  engine: Engine,
  runbook: string,
  status: string,
  pick: Pick,
): Promise<Found | null> {
  const found = await engine.db.query<Found>(
    `select b.id as batch_id, m.id as member_id from batches b join batch_members m on m.batch_id = b.id
      where b.runbook_name = $1 and m.status = $2 and b.status <> 'cancelled' order by m.id desc limit 50`,
    [runbook, status],
  )
  return found[pick(found.length || 1)] ?? null
}

function ordersOf(engine: Engine): { name: string; weight: number; give: Give }[] {
  const one = <T>(all: readonly T[], pick: Pick): T | null => all[pick(all.length || 1)] ?? null
  const hold = async (runbook: string, actor: string, pick: Pick) => {
    const batch = one(await unfinished(engine, runbook), pick)
    if (batch) await holdBatch(engine, { batchId: batch.id, actor, reason: 'a look' })
    return batch && { batchId: batch.id }
  }
  return [
    { name: 'create', weight: 2, give: (actor, pick) => create(engine, actor, pick) },
    { name: 'hold', weight: 3, give: (actor, pick) => hold(SMALL, actor, pick) },
    { name: 'hold the large one', weight: 1, give: (actor, pick) => hold(LARGE, actor, pick) },
    {
      name: 'resume',
      weight: 8,
      give: async (actor, pick) => {
        const batch = one(await heldByUs(engine), pick)
        if (batch) await resumeBatch(engine, { batchId: batch.id, actor, reason: 'on it goes' })
        return batch && { batchId: batch.id }
      },
    },
    {
      name: 'cancel',
      weight: 1,
      give: async (actor, pick) => {
        const batch = one(await unfinished(engine, SMALL), pick)
        if (batch) await cancelBatch(engine, { batchId: batch.id, actor, reason: 'enough' })
        return batch && { batchId: batch.id }
      },
    },
    ...ordersForMembers(engine),
  ]
}

function ordersForMembers(engine: Engine): { name: string; weight: number; give: Give }[] {
  return [
    {
      name: 'retry',
      weight: 3,
      give: async (actor, pick) => {
        const found = await findMember(engine, SMALL, 'failed', pick)
        if (!found) return null
        const { batchId, memberId } = found
        const order = { batchId, memberIds: [memberId], actor, reason: 'again' }
        const { done } = await retryMembers(engine, { ...order, fromStepName: 'second' })
        return done.length > 0 ? found : null
      },
    },
    {
      name: 'remove',
      weight: 2,
      give: async (actor, pick) => {
        const found = await findMember(engine, SMALL, 'active', pick)
        if (!found) return null
        const { batchId, memberId } = found
        const order = { batchId, memberIds: [memberId], actor, reason: 'leaves' }
        const { done } = await removeMembers(engine, order)
        return done.length > 0 ? found : null
      },
    },
    {
      name: 'set variable',
      weight: 3,
      give: async (actor, pick) => {
        const found = await findMember(engine, LARGE, 'active', pick)
        if (!found) return null
        const { batchId, memberId } = found
        const order = { batchId, memberIds: [memberId], actor, reason: 'noted' }
        const { done } = await setMemberVariable(engine, { ...order, name: 'Note', value: actor })
        return done.length > 0 ? found : null
      },
    },
  ]
}

async function create(
  engine: Engine,
  actor: string,
  pick: Pick,
): Promise<{ batchId: number } | null> {
  if ((await unfinished(engine, SMALL)).length >= UNFINISHED_MAX) return null
  const sourceTime = new Date(engine.clock.now().getTime() - 1_000 * pick(100_000))
  const members = Array.from({ length: MEMBERS_A_BATCH }, (_, index) => {
    const key = `${actor}-${index}@contoso.example`
    return { key, data: { Upn: key } }
  })
  return createBatch(engine, { runbookName: SMALL, sourceTime, members, createdBy: actor })
}
