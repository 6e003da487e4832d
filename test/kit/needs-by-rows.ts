// Who is needed and what comes next, by an independent reading of rows, against the sentence that every screen shows.
import assert from 'node:assert/strict'
import type { Queryable } from '../../src/db/connection/db.ts'
import { type LoadedVerdict, loadVerdict } from '../../src/engine/needs/find-needs.ts'
import type { Engine } from '../../src/engine/transactions/engine.ts'

const UNFINISHED = `('detected', 'init_dispatched', 'active')`
const MINUTE_MS = 60_000
const DAY_MS = 24 * 3_600_000

interface Rows {
  readonly isSystemHeld: boolean
  /** People by batch who failed, were not taken back, and are in no later wave. */
  readonly failed: ReadonlyMap<number, number>
  readonly phases: readonly {
    readonly batchId: number
    readonly status: string
    readonly dueAt: Date | null
    readonly needed: number
    readonly approvals: number
    readonly isHeld: boolean
  }[]
}

async function readRows(db: Queryable): Promise<Rows> {
  const holds = await db.query<{ scope: string; target: string }>(
    'select scope, target from holds',
    [],
  )
  const isSystemHeld = holds.some(({ scope }) => scope === 'system')
  const people = await db.query<{
    id: number
    batchId: number
    key: string
    runbook: string
    status: string
  }>(
    `select m.id, m.batch_id as "batchId", m.key_folded as key, b.runbook_name as runbook, m.status
       from batch_members m join batches b on b.id = m.batch_id`,
    [],
  )
  const steps = await db.query<{ memberId: number; kind: string; status: string }>(
    `select batch_member_id as "memberId", kind, status from step_executions where batch_member_id is not null`,
    [],
  )
  const stepsOf = Map.groupBy(steps, ({ memberId }) => memberId)
  const hasFailed = ({ status }: { status: string }) =>
    ['failed', 'poll_timeout', 'rolled_back'].includes(status)
  const isTakenBack = (id: number): boolean => {
    const own = stepsOf.get(id) ?? []
    const undo = own.filter(({ kind }) => kind === 'undo')
    const phase = own.filter(({ kind }) => kind === 'phase')
    return (
      undo.length > 0 &&
      !undo.some(hasFailed) &&
      (phase.some(({ status }) => status === 'undone') || !phase.some(hasFailed))
    )
  }
  const failed = new Map<number, number>()
  for (const { id, batchId, key, runbook, status } of people) {
    const isLater = people.some(
      (other) =>
        other.key === key &&
        other.runbook === runbook &&
        other.id > id &&
        other.status !== 'removed',
    )
    if (status === 'failed' && !isTakenBack(id) && !isLater)
      failed.set(batchId, (failed.get(batchId) ?? 0) + 1)
  }
  const ofInit = await db.query<{ id: number }>('select id from batches where failed_in_init', [])
  for (const { id } of ofInit) if (!failed.has(id)) failed.set(id, 1)
  const phases = await db.query<Rows['phases'][number] & { runbook: string; heldAt: Date | null }>(
    `select p.batch_id as "batchId", p.status, p.due_at as "dueAt", coalesce(p.gate_approvals, 0) as needed, b.held_at as "heldAt",
            b.runbook_name as runbook,
            (select count(*)::int from gate_decisions d where d.batch_id = b.id and d.phase_name = lower(p.phase_name)
                and d.kind = 'approval' and d.ended_at is null) as approvals
       from phase_executions p join batches b on b.id = p.batch_id
      where b.status in ${UNFINISHED} and p.status in ('pending', 'dispatched')`,
    [],
  )
  const isHeld = (runbook: string, heldAt: Date | null): boolean =>
    isSystemHeld ||
    heldAt !== null ||
    holds.some(({ scope, target }) => scope === 'runbook' && target === runbook)
  return {
    isSystemHeld,
    failed,
    phases: phases.map(({ runbook, heldAt, ...phase }) => ({
      ...phase,
      isHeld: isHeld(runbook, heldAt),
    })),
  }
}

/** Each disagreement as a sentence; none when all agree. */
export async function needsThatDisagree(engine: Engine, now: Date): Promise<string[]> {
  const verdict = await loadVerdict(engine, now)
  const rows = await readRows(engine.db)
  return [...ofHolds(verdict, rows), ...ofFailed(verdict, rows), ...ofPhases(verdict, rows, now)]
}

export async function assertNeedsAgree(engine: Engine, now: Date): Promise<void> {
  assert.deepEqual(await needsThatDisagree(engine, now), [])
}

const all = ({ needs, planned }: LoadedVerdict) => [...needs, ...planned]

function ofHolds(verdict: LoadedVerdict, { isSystemHeld }: Rows): string[] {
  const says = verdict.needs.some(({ kind }) => kind === 'everything_held')
  return says === isSystemHeld ? [] : [`everything is held: said ${says}, by rows ${isSystemHeld}`]
}

function ofFailed(verdict: LoadedVerdict, { failed }: Rows): string[] {
  const said = new Map(
    all(verdict).flatMap(({ kind, batchIds, count }) =>
      kind === 'people_failed' ? [[batchIds![0]!, count] as const] : [],
    ),
  )
  return [...new Set([...said.keys(), ...failed.keys()])]
    .filter((id) => said.get(id) !== failed.get(id))
    .map((id) => `batch ${id}: ${said.get(id) ?? 0} people failed, by rows ${failed.get(id) ?? 0}`)
}

function ofPhases(verdict: LoadedVerdict, { phases }: Rows, now: Date): string[] {
  const found: string[] = []
  const pending = phases.filter(({ status, dueAt }) => status === 'pending' && dueAt !== null)
  for (const { batchId, dueAt, needed, approvals } of pending) {
    const isSoon = +dueAt! - +now <= DAY_MS
    const says = all(verdict).some(
      ({ kind, batchIds }) => kind === 'gate_waiting' && batchIds?.includes(batchId),
    )
    if (isSoon && approvals < needed && !says)
      found.push(
        `batch ${batchId} lacks approvals for ${dueAt!.toISOString()}, and no need says so`,
      )
  }
  const late = pending.filter(({ dueAt, isHeld }) => !isHeld && +now - +dueAt! > 2 * MINUTE_MS)
  if (!verdict.isActionNeeded && late.length > 0)
    found.push(`"${verdict.headline}", though a phase of batch ${late[0]!.batchId} is late`)
  const isRunning = phases.some(({ status }) => status === 'dispatched')
  const doing =
    /^No action needed: (nothing is scheduled|nothing is running; next is .* at (\S+)|\d+ phases? )/.exec(
      verdict.headline,
    )
  if (!doing) return found
  const next = pending.map(({ dueAt }) => +dueAt!).sort((a, b) => a - b)[0]
  const said = doing[2] === undefined ? undefined : Date.parse(doing[2].replace(/\.$/, ''))
  const isSaid = doing[1]!.startsWith('nothing is scheduled')
    ? !isRunning && next === undefined
    : said === undefined
      ? isRunning
      : !isRunning && said === next
  if (!isSaid) found.push(`"${verdict.headline}", by rows the next phase is due at ${next}`)
  return found
}
