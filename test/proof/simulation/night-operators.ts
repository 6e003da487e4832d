// What people decide on a cut-over night: approve and waive at a gate, change their mind, override change windows, undo people, waves and
// init. Some approve what they published, decide about the wrong batch or undo twice: these must be refused.

import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import { overrideWindow } from '../../../src/engine/orders/change-windows.ts'
import { approveGate, waiveReadiness, withdrawDecision } from '../../../src/engine/orders/gates.ts'
import type { MembersOutcome } from '../../../src/engine/orders/member-actions.ts'
import { undoInitOf, undoMembers } from '../../../src/engine/orders/undo.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import type { Night } from './night.ts'
import type { World } from './world.ts'

/** The publisher is among them, and must be refused. */
const APPROVERS = ['ben', 'cleo', 'dora', 'author']
const REASON = 'as agreed'
const MINUTE_MS = 60_000

/** Describes what was done; null if there was no target. */
export type NightAct = (world: World, night: Night, engine: Engine) => Promise<string | null>

interface Gate {
  readonly batchId: number
  readonly phaseName: string
}

/** Gates of phases that have not started. */
const gatesOf = ({ db }: World): Promise<Gate[]> =>
  db.query(
    `select p.batch_id, p.phase_name from phase_executions p join batches b on b.id = p.batch_id
      where p.status = 'pending' and p.gate_approvals is not null and b.status in ('detected', 'init_dispatched', 'active')
      order by p.id`,
  )

const atGate =
  (act: (world: World, night: Night, engine: Engine, gate: Gate) => Promise<string>): NightAct =>
  async (world, night, engine) => {
    const gates = await gatesOf(world)
    if (gates.length === 0) return null
    const gate = night.chance.pick(gates)
    const who = await act(world, night, engine, gate)
    return `phase ${gate.phaseName} of batch ${gate.batchId}, by ${who}`
  }

const approve = atGate(async (_world, { chance }, engine, gate) => {
  const actor = chance.pick(APPROVERS)
  await approveGate(engine, { ...gate, actor, reason: REASON })
  return actor
})

const waive = atGate(async ({ clock }, { chance }, engine, gate) => {
  const endsAt = new Date(clock.nowMs() + chance.between(1, 30) * MINUTE_MS)
  await waiveReadiness(engine, { ...gate, actor: 'ben', reason: REASON, endsAt })
  return 'ben'
})

const withdraw = atGate(async (_world, { chance }, engine, gate) => {
  const actor = chance.pick(APPROVERS)
  const kind = chance.pick(['approval', 'approval', 'waiver'] as const)
  await withdrawDecision(engine, { ...gate, actor, reason: REASON, kind })
  return actor
})

interface BatchOf {
  readonly id: number
  readonly isOverridden: boolean
  readonly hasEffects: boolean
}

const someBatch = async (
  { db, clock }: World,
  { chance }: Night,
  fits: (batch: BatchOf) => boolean,
): Promise<BatchOf | null> => {
  const all = await db.query<BatchOf>(
    `select b.id, coalesce(b.window_override_until > $1, false) as is_overridden,
            exists (select from attempts a where a.batch_id = b.id and a.effect_json -> 'undo' is not null) as has_effects
       from batches b order by b.id`,
    [clock.now()],
  )
  const fitting = all.filter(fits)
  const from = fitting.length > 0 && chance.happens(0.9) ? fitting : all
  return from.length === 0 ? null : chance.pick(from)
}

const override: NightAct = async (world, night, engine) => {
  const batch = await someBatch(world, night, ({ isOverridden }) => !isOverridden)
  if (!batch) return null
  const until = new Date(world.clock.nowMs() + night.chance.between(1, 25) * MINUTE_MS)
  await overrideWindow(engine, { batchId: batch.id, actor: 'ben', reason: REASON, until })
  return `batch ${batch.id} until ${until.toISOString()}`
}

const endOverride: NightAct = async (world, night, engine) => {
  const batch = await someBatch(world, night, ({ isOverridden }) => isOverridden)
  if (!batch) return null
  await overrideWindow(engine, { batchId: batch.id, actor: 'ben', reason: REASON, until: null })
  return `batch ${batch.id}`
}

/** Members with a change that can be undone. */
async function membersToUndo({ db }: World, batchId: number | null) {
  return db.query<{ id: number; batchId: number }>(
    `select m.id, m.batch_id from batch_members m
      where ($1::bigint is null or m.batch_id = $1)
        and exists (select from attempts a join step_executions s on s.id = a.step_id
                     where s.batch_member_id = m.id and a.effect_json -> 'undo' is not null)
      order by m.id`,
    [batchId],
  )
}

const undoOrder = (chance: Night['chance'], batchId: number, memberIds: readonly number[]) => ({
  batchId,
  memberIds,
  actor: 'ben',
  reason: REASON,
  isPastNoReturn: chance.happens(0.3),
})

/** Everybody was refused: that is the answer. */
function insistOne({ refused }: MembersOutcome, asked: number): void {
  if (refused.length === asked) throw new MatoolkitError('REFUSED', { reason: refused[0]!.reason })
}

const undoOne: NightAct = async (world, { chance }, engine) => {
  const members = await membersToUndo(world, null)
  if (members.length === 0) return null
  const { id, batchId } = chance.pick(members)
  insistOne(await undoMembers(engine, undoOrder(chance, batchId, [id])), 1)
  return `member ${id} of batch ${batchId}`
}

/** The engine refuses unless the batch has ended or is held; some forget it. */
async function holdFirst({ chance }: Night, engine: Engine, batchId: number): Promise<void> {
  if (chance.happens(0.85))
    await orRefused(holdBatch(engine, { batchId, actor: 'ben', reason: 'the wave is off' }))
}

const undoBatch: NightAct = async (world, night, engine) => {
  const batch = await someBatch(world, night, ({ hasEffects }) => hasEffects)
  const members = batch ? await membersToUndo(world, batch.id) : []
  if (!batch || members.length === 0) return null
  const ids = members.map(({ id }) => id)
  await holdFirst(night, engine, batch.id)
  const order = { ...undoOrder(night.chance, batch.id, ids), isWholeBatch: true }
  insistOne(await undoMembers(engine, order), ids.length)
  return `${ids.length} members of batch ${batch.id}`
}

const undoInit: NightAct = async (world, night, engine) => {
  const batch = await someBatch(world, night, ({ hasEffects }) => hasEffects)
  if (!batch) return null
  await holdFirst(night, engine, batch.id)
  const items = await undoInitOf(engine, undoOrder(night.chance, batch.id, []))
  return `init of batch ${batch.id}, ${items.length} changes`
}

export const NIGHT_OPERATIONS = {
  'approve a gate': approve,
  'waive readiness': waive,
  'withdraw a decision': withdraw,
  'override windows': override,
  'end an override': endOverride,
  'undo a member': undoOne,
  'undo a batch': undoBatch,
  'undo init': undoInit,
} as const satisfies Record<string, NightAct>

export type NightOperation = keyof typeof NIGHT_OPERATIONS

/** What somebody does about the guards now; null: nothing. */
export async function drawNightOperation(
  world: World,
  { chance, gateAt, windows, effects }: Night,
): Promise<NightOperation | null> {
  const isGated = gateAt !== null
  const hasWindows = windows.some((pattern) => pattern !== null)
  const isUndoable = effects !== null && (await membersToUndo(world, null)).length > 0
  const wanted = chance.weighed({
    'approve a gate': isGated ? 12 : 0,
    'waive readiness': isGated ? 2 : 0,
    'withdraw a decision': isGated ? 2 : 0,
    'override windows': hasWindows ? 2 : 0,
    'end an override': hasWindows ? 1 : 0,
    'undo a member': isUndoable ? 14 : 0.2,
    'undo a batch': isUndoable ? 4 : 0.1,
    'undo init': effects ? 1 : 0,
    nothing: 14,
  })
  return wanted === 'nothing' ? null : wanted
}

/** In a healed world people approve what waits at a gate, and waive what will not become ready. */
export async function approveWaiting(world: World): Promise<void> {
  const { db, clock, office } = world
  const waiting = await db.query<Gate & { isReadyAsked: boolean }>(
    `select p.batch_id, p.phase_name, p.gate_ready_percent is not null as is_ready_asked
       from phase_executions p join batches b on b.id = p.batch_id
      where p.status = 'pending' and p.gate_approvals is not null and b.status in ('detected', 'active') and (b.is_manual or p.due_at <= $1)
      order by p.id`,
    [clock.now()],
  )
  const endsAt = new Date(clock.nowMs() + 60 * MINUTE_MS)
  for (const { isReadyAsked, ...gate } of waiting) {
    const order = { ...gate, reason: 'the trouble is over' }
    for (const actor of ['ben', 'cleo'])
      await orRefused(approveGate(office.engine, { ...order, actor }))
    if (isReadyAsked)
      await orRefused(waiveReadiness(office.engine, { ...order, actor: 'ben', endsAt }))
  }
}

async function orRefused(asked: Promise<unknown>): Promise<void> {
  try {
    await asked
  } catch (error) {
    if (!(error instanceof MatoolkitError)) throw error
  }
}
