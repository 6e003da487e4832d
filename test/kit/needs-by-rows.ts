// Who is needed and what comes next, read a second time: from rows and without any code of the program, against the sentence that every
// screen shows.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Queryable } from '../../src/db/connection/db.ts'
import { listPhaseOutlook } from '../../src/db/views/status.ts'
import { type LoadedVerdict, loadVerdict } from '../../src/engine/needs/find-needs.ts'
import type { Engine } from '../../src/engine/transactions/engine.ts'

const UNFINISHED = `('detected', 'init_dispatched', 'active')`
const MINUTE_MS = 60_000
const DAY_MS = 24 * 3_600_000

interface Rows {
  readonly isSystemHeld: boolean
  /** People by batch who failed, were not taken back, and are in no later wave. */
  readonly failed: ReadonlyMap<number, number>
  readonly phases: readonly OpenPhase[]
  /** Batches that their gate, or the limit of their failures, has stopped. */
  readonly heldBy: ReadonlyMap<number, string>
}

interface OpenPhase {
  readonly batchId: number
  readonly name: string
  readonly status: string
  readonly dueAt: Date | null
  readonly isHeld: boolean
  /** Of a gate: what it lacks for certain; null: nothing, or it has no gate. */
  readonly lacks: 'approvals' | 'ready people' | 'either' | null
}

async function readRows(db: Queryable, now: Date): Promise<Rows> {
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
  const phases = await db.query<GatedPhase>(
    `select p.batch_id, p.phase_name as name, p.status, p.due_at, p.gate_approvals as approvals, p.gate_ready_percent as ready_percent,
            p.gate_survives as survives, b.held_at, b.held_by, b.runbook_name as runbook, b.runbook_version as version
       from phase_executions p join batches b on b.id = p.batch_id
      where b.status in ${UNFINISHED} and p.status in ('pending', 'dispatched')`,
    [],
  )
  const decisions = await db.query<Decision>(
    `select batch_id, phase_name as phase, kind, runbook_version as version, due_at, members_hash as members, ends_at
       from gate_decisions where ended_at is null`,
    [],
  )
  const isHeld = (runbook: string, heldAt: Date | null): boolean =>
    isSystemHeld ||
    heldAt !== null ||
    holds.some(({ scope, target }) => scope === 'runbook' && target === runbook)
  return {
    isSystemHeld,
    failed,
    heldBy: new Map(phases.flatMap(({ batchId, heldBy }) => (heldBy ? [[batchId, heldBy]] : []))),
    phases: phases.map((phase) => {
      const here = people.filter(
        ({ batchId, status }) => batchId === phase.batchId && status !== 'removed',
      )
      return {
        batchId: phase.batchId,
        name: phase.name,
        status: phase.status,
        dueAt: phase.dueAt,
        isHeld: isHeld(phase.runbook, phase.heldAt),
        lacks: lackOf(phase, decisions, here, now),
      }
    }),
  }
}

interface GatedPhase extends Pick<OpenPhase, 'batchId' | 'name' | 'status' | 'dueAt'> {
  readonly approvals: number | null
  readonly readyPercent: number | null
  readonly survives: number | null
  readonly heldAt: Date | null
  readonly heldBy: string | null
  readonly runbook: string
  readonly version: number
}

interface Decision {
  readonly batchId: number
  readonly phase: string
  readonly kind: string
  readonly version: number
  readonly dueAt: Date | null
  readonly members: string
  readonly endsAt: Date | null
}

/** A decision counts while version, time and people are those that it was made about. */
function lackOf(
  phase: GatedPhase,
  decisions: readonly Decision[],
  here: readonly { readonly id: number; readonly status: string }[],
  now: Date,
): OpenPhase['lacks'] {
  if (phase.approvals === null) return null
  const ids = here.map(({ id }) => id).toSorted((a, b) => a - b)
  const members = createHash('md5').update(ids.join()).digest('hex')
  const [fitting, others] = [true, false].map((isSame) =>
    decisions.filter(
      (one) =>
        one.batchId === phase.batchId &&
        one.phase === phase.name.toLowerCase() &&
        one.version === phase.version &&
        one.dueAt?.getTime() === phase.dueAt?.getTime() &&
        (one.members === members) === isSame,
    ),
  ) as [Decision[], Decision[]]
  // Who left and who came cancel out in the program's counts until the start looks at the people themselves.
  if (others.length > 0) return 'either'
  if (fitting.filter(({ kind }) => kind === 'approval').length < phase.approvals) return 'approvals'
  const isWaived = fitting.some(({ kind, endsAt }) => kind === 'waiver' && +endsAt! > +now)
  const active = here.filter(({ status }) => status === 'active').length
  return !isWaived && active * 100 < (phase.readyPercent ?? 0) * here.length ? 'ready people' : null
}

/** Each disagreement as a sentence; none when all agree. */
export async function needsThatDisagree(engine: Engine, now: Date): Promise<string[]> {
  const verdict = await loadVerdict(engine, now)
  const rows = await readRows(engine.db, now)
  return [
    ...ofHolds(verdict, rows),
    ...ofFailed(verdict, rows),
    ...ofGates(verdict, rows, now),
    ...ofPhases(verdict, rows, now),
    ...(await ofNext(engine.db, rows)),
  ]
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

function ofGates(verdict: LoadedVerdict, { phases, heldBy }: Rows, now: Date): string[] {
  const found: string[] = []
  for (const [batchId, own] of Map.groupBy(phases, (phase) => phase.batchId)) {
    const soon = own.filter(
      ({ status, dueAt, lacks }) =>
        status === 'pending' && dueAt !== null && +dueAt - +now <= DAY_MS && lacks !== null,
    )
    const isStopped = heldBy.get(batchId) === 'gate'
    const isSaid = all(verdict).some(
      ({ kind, batchIds }) => kind === 'gate_waiting' && batchIds?.includes(batchId),
    )
    if (isSaid || !soon.some(({ lacks }) => lacks !== 'either')) {
      if (isSaid && soon.length === 0 && !isStopped)
        found.push(`batch ${batchId} is said to wait at a gate, and no gate of it lacks anything`)
      continue
    }
    const [{ name, lacks }] = soon as [OpenPhase]
    found.push(`batch ${batchId} lacks ${lacks} for ${name}, and no need says so`)
  }
  return found
}

const placeOf = (phase: OpenPhase): string =>
  `${phase.status} ${phase.name} of batch ${phase.batchId} at ${phase.dueAt?.toISOString() ?? 'no time'}`

/** Every running phase, and the next of each batch. */
async function ofNext(db: Queryable, { phases }: Rows): Promise<string[]> {
  const said = await listPhaseOutlook(db, 10_000)
  const next = [...Map.groupBy(phases, ({ batchId }) => batchId).values()].flatMap((own) => {
    const pending = own.filter(({ status }) => status === 'pending')
    const first = Math.min(...pending.map(({ dueAt }) => +(dueAt ?? 0)))
    // Of several at the same time any may be named.
    const named = said.find(
      ({ batchId, status }) => batchId === own[0]!.batchId && status === 'pending',
    )
    const fits = pending.filter(({ dueAt }) => +(dueAt ?? 0) === first)
    return fits.find(({ name }) => name === named?.phaseName) ?? fits[0] ?? []
  })
  const rows = [...phases.filter(({ status }) => status === 'dispatched'), ...next].map(placeOf)
  const shown = said.map((one) =>
    placeOf({ ...one, name: one.phaseName, isHeld: false, lacks: null }),
  )
  return shown.toSorted().join() === rows.toSorted().join()
    ? []
    : [`status lists ${shown.join(', ')}; by rows ${rows.join(', ')}`]
}

function ofPhases(verdict: LoadedVerdict, { phases }: Rows, now: Date): string[] {
  const found: string[] = []
  const pending = phases.filter(({ status, dueAt }) => status === 'pending' && dueAt !== null)
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
