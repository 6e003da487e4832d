// Operators, the scheduler and a changing source: every action that people can request, at random, on random batches and members,
// sensible or not. A refusal is fine; a success must be true.

import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import {
  advanceBatch,
  cancelBatch,
  holdBatch,
  rescheduleBatch,
  restartBatch,
  resumeBatch,
} from '../../../src/engine/orders/batch-actions.ts'
import { addMembers, createBatch, type GivenMember } from '../../../src/engine/orders/create.ts'
import { type HoldOrder, holdScope, resumeScope } from '../../../src/engine/orders/holds.ts'
import {
  acceptLate,
  type MembersOutcome,
  markStepDone,
  readmitMembers,
  redoMembers,
  removeMembers,
  retryMembers,
  retryStep,
  rollBackMembers,
  setMemberVariable,
  skip,
} from '../../../src/engine/orders/member-actions.ts'
import { publishRunbook } from '../../../src/engine/orders/publish.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { moveMember } from '../../stories/looking.ts'
import type { Chance } from './chance.ts'
import { HAS_LATE, HAS_ROLLBACK, type Moment, momentOf, STEPS } from './moment.ts'
import { drawNightOperation, NIGHT_OPERATIONS, type NightOperation } from './night-operators.ts'
import { startOffice } from './office.ts'
import { heldShift, holdsOf, untakenJobs } from './promises.ts'
import { people, runbookText, type Shape } from './runbooks.ts'
import { attempt, type World } from './world.ts'

/** What the operators of one world know. */
export interface OperatorState {
  readonly shape: Shape
  /** For holds of the system, the runbook, workers and members, and for failed rollback or removal steps. */
  readonly wider: Chance
  version: number
  peopleMade: number
  /** Members that the engine accepted: batch and key. */
  readonly takenIn: { batchId: number; key: string }[]
}

interface Batch {
  readonly id: number
  readonly status: string
  readonly isHeld: boolean
  readonly hasFailedInit: boolean
  readonly isManual: boolean
}
interface Member {
  readonly id: number
  readonly batchId: number
  readonly status: string
  /** Its batch is not cancelled, so actions are possible. */
  readonly isLive: boolean
}
interface Step {
  readonly id: number
  readonly name: string
  readonly memberId: number
  readonly batchId: number
  readonly status: string
  readonly isLive: boolean
  /** A late success that can be accepted. */
  readonly hasLate: boolean
  /** It had an effect and has a rollback. */
  readonly hasRollback: boolean
}

const ORDER = { actor: 'operator', reason: 'as agreed' }
const MINUTE_MS = 60_000

export const batchesOf = ({ db }: World): Promise<Batch[]> =>
  db.query(
    `select id, status, held_at is not null as is_held, failed_in_init as has_failed_init, is_manual
       from batches order by id`,
  )

const membersOf = ({ db }: World): Promise<Member[]> =>
  db.query(
    `select m.id, m.batch_id, m.status, b.status <> 'cancelled' as is_live
       from batch_members m join batches b on b.id = m.batch_id order by m.id`,
  )

const stepsOf = ({ db }: World, isCompensation = false): Promise<Step[]> =>
  db.query(
    `select s.id, s.step_name as name, s.batch_member_id as member_id, s.batch_id, s.status,
            b.status <> 'cancelled' as is_live, (${HAS_LATE}) as has_late,
            (${HAS_ROLLBACK}) as has_rollback
       from ${STEPS} where s.batch_member_id is not null and (s.kind <> 'phase') = $1 order by s.id`,
    [isCompensation],
  )

/** Describes what was done; null if there was no target. */
type Act = (world: World, operators: OperatorState, engine: Engine) => Promise<string | null>

/** Picks one, usually from those for which the action makes sense; the others are there to be refused. */
function choose<T>({ chance }: World, all: readonly T[], fits: (one: T) => boolean): T | null {
  const fitting = all.filter(fits)
  const from = fitting.length > 0 && chance.happens(0.9) ? fitting : all
  return from.length === 0 ? null : chance.pick(from)
}

const onBatch =
  (
    fits: (batch: Batch) => boolean,
    act: (world: World, batch: Batch, engine: Engine) => Promise<void>,
  ): Act =>
  async (world, _desk, engine) => {
    const batch = choose(world, await batchesOf(world), fits)
    if (!batch) return null
    await act(world, batch, engine)
    return `batch ${batch.id}`
  }

/** An action on many members lists its refusals; on one member, that is the whole answer. */
function insistAll({ refused: [refused] }: MembersOutcome): void {
  if (refused) throw new MatoolkitError('REFUSED', { reason: refused.reason })
}

const onMember =
  (
    status: string,
    act: (world: World, member: Member, engine: Engine) => Promise<MembersOutcome>,
  ): Act =>
  async (world, _desk, engine) => {
    const all = await membersOf(world)
    const member = choose(world, all, (one) => one.isLive && one.status === status)
    if (!member) return null
    insistAll(await act(world, member, engine))
    return `member ${member.id} of batch ${member.batchId}`
  }

const onStep =
  (
    fits: (step: Step) => boolean,
    act: (world: World, step: Step, engine: Engine) => Promise<void>,
  ): Act =>
  async (world, _desk, engine) => {
    const step = choose(world, await stepsOf(world), (one) => one.isLive && fits(one))
    if (!step) return null
    await act(world, step, engine)
    return `step ${step.id} (${step.name}) of member ${step.memberId}`
  }

const isUnfinished = ({ status }: Batch) =>
  status === 'detected' || status === 'init_dispatched' || status === 'active'
const isStuck = ({ status }: Step) =>
  ['pending', 'failed', 'poll_timeout', 'cancelled', 'rolled_back'].includes(status)
const orderFor = ({ id, batchId }: Member) => ({ ...ORDER, batchId, memberIds: [id] })

const publish: Act = async (world, operators, engine) => {
  const { chance } = world
  // Not counted from the last answer: an office that crashed after its commit has published without knowing, and windows differ by version.
  const [known] = await world.db.query<{ next: number }>(
    'select coalesce(max(version), 0) + 1 as next from runbooks',
  )
  const yaml = runbookText(chance, operators.shape, known!.next)
  const overdueBehavior = chance.happens(0.4) ? 'rerun' : 'ignore'
  const rerunInit = chance.happens(0.3)
  const request = { yaml, publishedBy: 'author', overdueBehavior, rerunInit } as const
  const { version } = await publishRunbook(engine, request)
  operators.version = version
  return `version ${version}, ${overdueBehavior}${rerunInit ? ', init again' : ''}`
}

const create: Act = async (world, operators, engine) => {
  const { chance, clock } = world
  const isManual = chance.happens(0.25)
  const minutes = chance.between(-25, 45)
  const count = operators.shape.isDoomed ? chance.between(13, 16) : chance.between(2, 5)
  const members = newPeople(world, operators, count)
  const sourceTime = isManual ? null : new Date(clock.nowMs() + minutes * MINUTE_MS)
  const request = { runbookName: operators.shape.name, sourceTime, members, createdBy: 'operator' }
  const { batchId } = await createBatch(engine, request)
  for (const { key } of members) operators.takenIn.push({ batchId, key })
  return `batch ${batchId}${isManual ? ', manual' : ` in ${minutes} min`}, ${members.length} members`
}

export function newPeople(
  { chance }: World,
  operators: OperatorState,
  count: number,
): GivenMember[] {
  const made = people(chance, operators.peopleMade + 1, count)
  operators.peopleMade += count
  return made
}

const add: Act = async (world, operators, engine) => {
  const batch = choose(world, await batchesOf(world), isUnfinished)
  if (!batch) return null
  const members = newPeople(world, operators, world.chance.between(1, 2))
  const { added } = await addMembers(engine, batch.id, members, ORDER.actor)
  for (const { key } of added) operators.takenIn.push({ batchId: batch.id, key })
  return `${added.length} members into batch ${batch.id}`
}

const batchScope = (id: number) => ({ scope: 'batch', target: `${id}` }) as const

const hold = onBatch(isUnfinished, async (world, { id }, engine) => {
  await holdBatch(engine, { ...ORDER, batchId: id })
  world.found.push(...(await untakenJobs(world, batchScope(id), 'held')))
})

const resume = onBatch(
  ({ isHeld }) => isHeld,
  async (world, { id }, engine) => {
    const check = await heldShift(world, batchScope(id))
    await resumeBatch(engine, { ...ORDER, batchId: id })
    await check()
  },
)

type Scope = Pick<HoldOrder, 'scope' | 'target' | 'batchId'>

/** The system, the runbook, a worker or a member. */
async function someScope(world: World, { shape, wider }: OperatorState): Promise<Scope | null> {
  const scope = wider.weighed({ system: 2, runbook: 1, worker: 2, member: 3 })
  if (scope === 'system') return { scope, target: '' }
  if (scope === 'runbook') return { scope, target: shape.name.toLowerCase() }
  if (scope === 'worker') return { scope, target: wider.pick(world.workers).workerId }
  const live = (await membersOf(world)).filter(({ isLive }) => isLive)
  const member = live.length === 0 ? null : wider.pick(live)
  return member && { scope, target: `${member.id}`, batchId: member.batchId }
}

const holdWider: Act = async (world, operators, engine) => {
  const held = await someScope(world, operators)
  if (!held) return null
  await holdScope(engine, { ...ORDER, ...held })
  world.found.push(...(await untakenJobs(world, held, 'held')))
  return `${held.scope} ${held.target}`
}

/** One that is held, or now and then anything. */
const resumeWider: Act = async (world, operators, engine) => {
  const all = await holdsOf(world)
  const isGuess = all.length === 0 || operators.wider.happens(0.1)
  const held = isGuess ? await someScope(world, operators) : operators.wider.pick(all)
  if (!held) return null
  const check = await heldShift(world, held)
  await resumeScope(engine, { ...ORDER, ...held })
  await check()
  return `${held.scope} ${held.target}`
}

const cancel = onBatch(isUnfinished, async (world, { id }, engine) => {
  await cancelBatch(engine, { ...ORDER, batchId: id })
  world.found.push(...(await untakenJobs(world, batchScope(id), 'cancelled')))
})

const isManual = (batch: Batch) => batch.isManual && isUnfinished(batch)

/** A phase by its name, or a wrong guess: two operators with the same screen guess alike. */
const advance = onBatch(isManual, async (world, { id, status }, engine) => {
  const [next] = await world.db.query<{ name: string }>(
    `select phase_name as name from phase_executions where batch_id = $1 and status = 'pending'
      order by offset_minutes desc, phase_index limit 1`,
    [id],
  )
  const isInit = status === 'detected' && world.chance.happens(0.5)
  const expectedPhase = isInit ? 'init' : (next?.name ?? 'after')
  const allowStragglers = world.chance.happens(0.5)
  await advanceBatch(engine, { batchId: id, actor: ORDER.actor, expectedPhase, allowStragglers })
})

const reschedule = onBatch(isUnfinished, async ({ chance, clock }, { id }, engine) => {
  const startTime = new Date(clock.nowMs() + chance.between(-20, 40) * MINUTE_MS)
  await rescheduleBatch(engine, { ...ORDER, batchId: id, startTime, allowOverdue: true })
})

const move: Act = async (world, _desk, engine) => {
  const member = choose(world, await membersOf(world), ({ status }) => status === 'active')
  const all = await batchesOf(world)
  const to = choose(world, all, (one) => isUnfinished(one) && one.id !== member?.batchId)
  if (!member || !to) return null
  const { id, batchId } = member
  await moveMember(engine, { ...ORDER, memberId: id, batchId, toBatchId: to.id })
  return `member ${id} of batch ${batchId} to batch ${to.id}`
}

const restart = onBatch(
  ({ hasFailedInit }) => hasFailedInit,
  (_world, { id }, engine) => restartBatch(engine, { ...ORDER, batchId: id }),
)

const retryFromStep = onStep(
  ({ status }) => status === 'rolled_back' || status === 'failed' || status === 'poll_timeout',
  async (_world, { memberId, batchId, name }, engine) => {
    const order = { ...ORDER, batchId, memberIds: [memberId], fromStepName: name }
    insistAll(await retryMembers(engine, order))
  },
)

const redo = onStep(
  ({ status }) => status === 'succeeded',
  async (_world, { memberId, batchId, name }, engine) => {
    const order = { ...ORDER, batchId, memberIds: [memberId], fromStepName: name }
    insistAll(await redoMembers(engine, order))
  },
)

/** Sends it again, skips it or marks it done. */
const retryCompensationStep: Act = async (world, _desk, engine) => {
  const step = choose(world, await stepsOf(world, true), ({ status }) => status === 'failed')
  if (!step) return null
  const act = world.chance.pick([retryStep, skip, markStepDone])
  await act(engine, { ...ORDER, stepId: step.id })
  return `step ${step.id} (${step.name}) of member ${step.memberId}`
}

/** From a step that the member has passed, or all of them. */
const rollBack = onStep(
  ({ hasRollback }) => hasRollback,
  async ({ chance }, { memberId, batchId, name }, engine) => {
    const from = chance.happens(0.5) ? { fromStepName: name } : {}
    insistAll(await rollBackMembers(engine, { ...ORDER, batchId, memberIds: [memberId], ...from }))
  },
)

const OPERATIONS = {
  publish: [2, publish],
  'create a batch': [2, create],
  'add members': [2, add],
  remove: [3, onMember('failed', (_w, one, engine) => removeMembers(engine, orderFor(one)))],
  'drop from the source': [
    2,
    onMember('active', (_w, one, engine) =>
      removeMembers(engine, { ...orderFor(one), by: 'source' }),
    ),
  ],
  move: [2, move],
  rejoin: [
    2,
    onMember('removed', (_w, m, d) => readmitMembers(d, { ...orderFor(m), event: 'rejoin' })),
  ],
  readd: [
    2,
    onMember('removed', (_w, m, d) => readmitMembers(d, { ...orderFor(m), event: 'readd' })),
  ],
  hold: [2, hold],
  resume: [3, resume],
  cancel: [0.7, cancel],
  retry: [3, onMember('failed', (_w, one, engine) => retryMembers(engine, orderFor(one)))],
  'retry from a step': [2, retryFromStep],
  redo: [2, redo],
  'roll back': [2, rollBack],
  'retry a rollback or removal step': [2, retryCompensationStep],
  skip: [2, onStep(isStuck, (_w, { id }, engine) => skip(engine, { ...ORDER, stepId: id }))],
  'mark done': [
    2,
    onStep(isStuck, ({ chance }, { id }, engine) => {
      const outputs = chance.happens(0.5) ? { ThingId: 'by-hand' } : {}
      return markStepDone(engine, { ...ORDER, stepId: id, outputs })
    }),
  ],
  'set a variable': [
    1,
    onMember('active', (_w, one, engine) =>
      setMemberVariable(engine, { ...orderFor(one), name: 'Router', value: 'Do-route' }),
    ),
  ],
  restart: [2, restart],
  advance: [3, advance],
  reschedule: [1, reschedule],
  // Asked by a chance of their own.
  'hold more': [0, holdWider],
  'resume more': [0, resumeWider],
  'accept a late result': [
    2,
    onStep(
      ({ hasLate }) => hasLate,
      (_w, { id }, engine) => acceptLate(engine, { ...ORDER, stepId: id }),
    ),
  ],
  ...atNight(),
} as const satisfies Record<string, readonly [weight: number, Act]>

/** Asked by the chance of the night. */
function atNight(): Record<NightOperation, readonly [weight: number, Act]> {
  const pairs = Object.entries(NIGHT_OPERATIONS).map(([name, act]): [string, [number, Act]] => [
    name,
    [0, (world, _operators, engine) => act(world, world.night!, engine)],
  ])
  return Object.fromEntries(pairs) as Record<NightOperation, [number, Act]>
}

export type Operation = keyof typeof OPERATIONS
export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[]
const WEIGHTS = Object.fromEntries(
  Object.entries(OPERATIONS).map(([name, [weight]]) => [name, weight]),
) as Record<Operation, number>

/** What an operator requested, and the outcome. */
export interface Asked {
  readonly operation: Operation
  readonly end: 'done' | 'refused' | 'failed' | 'crashed'
}

/** Any action, or the most harmful one at this moment. */
export async function askAnything(world: World, operators: OperatorState): Promise<Asked> {
  const { chance } = world
  const atNight = world.night && (await drawNightOperation(world, world.night))
  if (atNight) return ask(world, operators, atNight)
  const moment = await momentOf(world)
  const { wider } = operators
  if (wider.happens(moment.isHeldWider ? 0.3 : 0.08)) {
    const isEnd = moment.isHeldWider && wider.happens(0.7)
    return ask(world, operators, isEnd ? 'resume more' : 'hold more')
  }
  if (moment.hasFailedUndo && wider.happens(FAILED_UNDO_SHARE))
    return ask(world, operators, 'retry a rollback or removal step')
  const mean = chance.happens(MEAN_SHARE) ? inconvenient(moment) : []
  if (mean.length > 0) return ask(world, operators, chance.pick(mean))
  const pairs = OPERATION_NAMES.map((name) => {
    const need = NEEDS[name]
    return [name, need && !moment[need] ? WEIGHTS[name] * POINTLESS : WEIGHTS[name]]
  })
  return ask(world, operators, chance.weighed(Object.fromEntries(pairs) as typeof WEIGHTS))
}

/** Most changes are made while the world heals, so people also undo and override then. */
export async function askAtNight(world: World, operators: OperatorState): Promise<void> {
  const operation = world.night && (await drawNightOperation(world, world.night))
  if (operation) await ask(world, operators, operation)
}

const MEAN_SHARE = 0.6
/** Most rollbacks and removals run while the world heals, so one that failed before is not left to chance. */
const FAILED_UNDO_SHARE = 0.5
/** Actions without a target are tried now and then: they must be refused. */
const POINTLESS = 0.1

/** The purpose of an action. */
const NEEDS: Readonly<Partial<Record<Operation, keyof Moment>>> = {
  advance: 'hasManual',
  resume: 'isHeld',
  retry: 'hasFailed',
  'retry from a step': 'hasFailed',
  restart: 'hasFailedInit',
  'roll back': 'hasRollback',
  'retry a rollback or removal step': 'hasFailedUndo',
  rejoin: 'hasRemoved',
  readd: 'hasRemoved',
  'accept a late result': 'hasLate',
}

/** Actions at a bad time: between two transactions that belong together, or while a job is unsettled. */
function inconvenient(now: Moment): Operation[] {
  const lists: readonly [boolean, readonly Operation[]][] = [
    [now.isStarting, ['add members', 'add members', 'move', 'publish', 'rejoin']],
    [now.hasRollback, ['roll back']],
    [now.hasFailedUndo, ['retry a rollback or removal step', 'retry a rollback or removal step']],
    [now.isUndoing, ['remove', 'roll back', 'retry', 'drop from the source']],
    [now.isHeld, ['resume', 'resume', 'resume', 'cancel', 'remove']],
    [now.hasFailed, ['retry', 'retry from a step']],
    [now.hasFailedInit, ['restart']],
    [now.hasLate, ['accept a late result', 'accept a late result', 'accept a late result']],
    [now.isOut, ['hold', 'remove', 'redo', 'skip']],
    [now.isAsking, ['hold', 'hold']],
  ]
  return lists.flatMap(([isSo, operations]) => (isSo ? operations : []))
}

export async function ask(
  world: World,
  operators: OperatorState,
  operation: Operation,
): Promise<Asked> {
  let isRefused = false
  const { process, engine } = world.office
  const end = await attempt(world, process, async () => {
    try {
      const [, act] = OPERATIONS[operation]
      const done = await act(world, operators, engine)
      isRefused = done === null
      world.log.push(`  ${operation}: ${done ?? 'nobody is there for it'}`)
    } catch (error) {
      if (!(error instanceof MatoolkitError)) throw error
      isRefused = true
      world.log.push(`  ${operation} was refused: ${error.details.reason ?? error.message}`)
    }
  })
  if (end === 'crashed') startOffice(world)
  return { operation, end: isRefused ? 'refused' : end }
}
