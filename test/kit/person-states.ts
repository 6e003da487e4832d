// Where people stand and what comes next for them, read a second time: from rows, by the words of docs/cut-over-night.md ("Where people
// stand") and without any code of the program, against the lists, counts and sentences that every screen shows.
import assert from 'node:assert/strict'
import { loadShownMembers } from '../../src/api/routes/members.ts'
import { loadBatchStates } from '../../src/api/shapes/batch-state.ts'
import type { Queryable } from '../../src/db/connection/db.ts'
import { nextSteps } from '../../src/domain/plan/next-steps.ts'
import { statesText } from '../../src/domain/state/person-state.ts'

export interface PhaseRow {
  readonly id: number
  readonly name: string
  readonly version: number
  readonly status: string
  readonly skippedBecause: string | null
  readonly offset: number
  readonly place: number
  readonly dueAt: Date | null
  readonly startedAt: Date | null
  /** Everybody has their steps of this phase. */
  readonly isWritten: boolean
  readonly shareEnds: number | null
}

interface PersonRow {
  readonly id: number
  readonly status: string
  readonly steps: readonly {
    readonly kind: string
    readonly phaseId: number
    readonly is: string
  }[]
  readonly isWaiting: boolean
  readonly isHeld: boolean
}

interface BatchRow {
  readonly status: string
  readonly isManual: boolean
  readonly isHeld: boolean
}

/** Each disagreement as a sentence; none when all agree. */
export async function statesThatDisagree(
  db: Queryable,
  batchIds: readonly number[] | null = null,
): Promise<string[]> {
  const batches = await db.query<BatchRow & { readonly id: number }>(
    `select b.id, b.status, b.is_manual,
            b.held_at is not null or exists (select from holds h where h.scope = 'system' or (h.scope = 'runbook' and h.target = b.runbook_name)) as is_held
       from batches b where $1::bigint[] is null or b.id = any($1) order by b.id`,
    [batchIds],
  )
  const shown = new Map(
    (
      await loadBatchStates(
        db,
        batches.map(({ id }) => id),
      )
    ).map((state) => [state.line.id, state]),
  )
  const found: string[] = []
  for (const batch of batches) {
    const { id } = batch
    const say = (what: string) => found.push(`batch ${id}: ${what}`)
    const all = await readPhases(db, id)
    const people = await readPeople(db, id)
    const state = shown.get(id)!
    const listed = await loadShownMembers(
      db,
      state,
      people.map((person) => person.id),
    )
    const states = new Map(people.map((person) => [person.id, standing(batch, all, person)]))
    for (const one of listed) {
      const { id: memberId, state: said, where } = one
      const read = states.get(memberId)!
      if (said !== read) say(`the list says ${said} of member ${memberId}, the rows say ${read}`)
      const person = people.find((other) => other.id === memberId)!
      const wait = isToCome(read) ? waitOf(batch, all, person) : null
      if (wait !== saidWait(where))
        say(`"${where}" is said of member ${memberId}, the rows say ${wait ?? 'no phase'}`)
    }
    const counts: Readonly<Record<string, number>> = state.line.states
    const names = new Set([...Object.keys(counts), ...states.values()])
    for (const name of names) {
      const count = [...states.values()].filter((one) => one === name).length
      if (counts[name] !== count) say(`${counts[name]} are counted as ${name}, by rows ${count}`)
    }
    const headline = statesText(state.line.states)
    const read = [...states.values()]
    if (saidCutOver(headline) !== cutOverText(read))
      say(`"${headline}", by rows ${cutOverText(read)}`)
    // What the page of a person lists as next, for somebody without a step.
    const given = { phases: state.phases, stepsOf: () => ['any'], steps: [] }
    const next = nextSteps(given, all.length).map(({ phaseName, at }) => `${phaseName} ${iso(at)}`)
    const open = inTime(all).filter(({ status }) => status === 'pending' || status === 'dispatched')
    const byRows = open.map(
      ({ name, status, dueAt }) => `${name} ${iso(status === 'pending' ? dueAt : null)}`,
    )
    if (next.join() !== byRows.join()) say(`next is ${next.join()}, by rows ${byRows.join()}`)
  }
  return found
}

export async function assertStatesAgree(db: Queryable): Promise<void> {
  assert.deepEqual(await statesThatDisagree(db), [])
}

const iso = (at: Date | null): string => at?.toISOString() ?? 'then'

export const readPhases = (db: Queryable, batchId: number): Promise<PhaseRow[]> =>
  db.query<PhaseRow>(
    `select id, phase_name as name, runbook_version as version, status, skipped_because, offset_minutes as offset, phase_index as place,
            due_at, dispatched_at as started_at, expanded_at is not null as is_written, ramp_through as share_ends
       from phase_executions where batch_id = $1 order by id`,
    [batchId],
  )

async function readPeople(db: Queryable, batchId: number): Promise<PersonRow[]> {
  const people = await db.query<Omit<PersonRow, 'steps'>>(
    `select m.id, m.status, exists (select from waits w where w.batch_member_id = m.id) as is_waiting,
            exists (select from holds h where h.scope = 'member' and h.member_id = m.id) as is_held
       from batch_members m where m.batch_id = $1 order by m.id`,
    [batchId],
  )
  const steps = await db.query<PersonRow['steps'][number] & { readonly memberId: number }>(
    `select batch_member_id as member_id, kind, phase_execution_id as phase_id, status as is from step_executions
      where batch_id = $1 and batch_member_id is not null`,
    [batchId],
  )
  const stepsOf = Map.groupBy(steps, ({ memberId }) => memberId)
  return people.map((person) => ({ ...person, steps: stepsOf.get(person.id) ?? [] }))
}

const inTime = (phases: readonly PhaseRow[]): PhaseRow[] =>
  phases.toSorted((a, b) => b.offset - a.offset || a.place - b.place || a.id - b.id)

/** The phases of the people's migration: the newest row of each name, without those that came too late to run. */
const ofMigration = (all: readonly PhaseRow[]): PhaseRow[] => {
  const current = all.filter(({ status }) => status !== 'superseded')
  return inTime(current).filter(
    ({ name, version, skippedBecause }) =>
      skippedBecause !== 'overdue' &&
      !current.some(
        (other) => other.name.toLowerCase() === name.toLowerCase() && other.version > version,
      ),
  )
}

const PASSED = ['succeeded', 'skipped']
const BROKEN = ['failed', 'poll_timeout']

function standing(batch: BatchRow, all: readonly PhaseRow[], person: PersonRow): string {
  const { status, steps } = person
  if (status === 'removed') return 'removed'
  const ofPhases = steps.filter(({ kind }) => kind === 'phase')
  if (status === 'failed') {
    const undo = steps.filter(({ kind }) => kind === 'undo')
    const isUndoBroken = undo.some(({ is }) => [...BROKEN, 'rolled_back'].includes(is))
    const hasFailed = ofPhases.some(({ is }) => [...BROKEN, 'rolled_back'].includes(is))
    const isUndone = ofPhases.some(({ is }) => is === 'undone')
    if (undo.length > 0 && !isUndoBroken && (isUndone || !hasFailed)) return 'taken_back'
    return isUndoBroken || ofPhases.some(({ is }) => BROKEN.includes(is)) ? 'failed' : 'rolled_back'
  }
  const phases = ofMigration(all)
  const begun = phases.filter(({ startedAt }) => startedAt !== null)
  const stepsIn = ({ id }: PhaseRow) => ofPhases.filter(({ phaseId }) => phaseId === id)
  const isIn = (phase: PhaseRow) =>
    phase.isWritten ||
    (stepsIn(phase).length > 0 && (phase.shareEnds === null || person.id <= phase.shareEnds))
  const hasPassed = (phase: PhaseRow) =>
    isIn(phase) &&
    stepsIn(phase).length > 0 &&
    stepsIn(phase).every(({ is }) => PASSED.includes(is))
  const isOver = !phases.some(
    ({ status: is, startedAt }) => is === 'pending' || (is === 'cancelled' && startedAt === null),
  )
  if (isOver && begun.length > 0 && begun.every(hasPassed)) return 'done'
  const atCutOver = cutOverOf(phases)
  const last = atCutOver.at(-1)
  if (last?.startedAt && hasPassed(last)) return 'cut_over'
  if (batch.status === 'cancelled' || batch.status === 'failed') return 'stopped'
  if (batch.status === 'completed' && begun.length === 0) return 'stopped'
  if (atCutOver.some((phase) => phase.startedAt && isIn(phase))) return 'cutting_over'
  return begun.some((phase) => !atCutOver.includes(phase)) ? 'preparing' : 'scheduled'
}

/** At T-0; without a phase there the last time before it, or else the first after it. */
function cutOverOf(phases: readonly PhaseRow[]): PhaseRow[] {
  const [before, later] = [phases.filter(({ offset }) => offset >= 0), phases]
  const at = before.length > 0 ? before.at(-1)!.offset : later[0]?.offset
  return phases.filter(({ offset }) => offset === at)
}

const isToCome = (state: string): boolean =>
  ['scheduled', 'preparing', 'cutting_over', 'cut_over'].includes(state)

/** The phase that somebody without a step waits for. */
function waitOf(batch: BatchRow, all: readonly PhaseRow[], person: PersonRow): string | null {
  const { status, isManual, isHeld } = batch
  if (isHeld || person.isHeld || person.isWaiting) return null
  if (status !== 'active' && status !== 'detected') return null
  const next = inTime(all).find((phase) => phase.status === 'pending')
  if (!next) return null
  return isManual || next.dueAt === null ? next.name : `${next.name} at ${iso(next.dueAt)}`
}

const saidWait = (where: string): string | null =>
  /waits for phase (\S+ at \S+)/.exec(where)?.[1] ??
  /waits until phase (\S+) is advanced/.exec(where)?.[1] ??
  null

/** `3 of 12`; none before the first is in the cut-over. */
function cutOverText(states: readonly string[]): string | null {
  const count = (...names: string[]) => states.filter((state) => names.includes(state)).length
  const people = states.length - count('removed')
  const isNight = count('cutting_over', 'cut_over', 'done') > 0
  return isNight ? `${count('cut_over', 'done')} of ${people}` : null
}

function saidCutOver(headline: string): string | null {
  const said = /^([\d,]+)(?: of ([\d,]+))? (?:cut over|done)/.exec(headline)
  return said ? `${said[1]} of ${said[2] ?? said[1]}` : null
}
