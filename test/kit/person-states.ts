// Where people stand by an independent reading of rows: every person's steps, one by one, against what the lists, filters and counts of the
// program say.
import assert from 'node:assert/strict'
import type { Queryable } from '../../src/db/connection/db.ts'
import { loadPhases } from '../../src/db/state/facts.ts'
import { findBatchLines } from '../../src/db/views/batches.ts'
import { listMembers } from '../../src/db/views/members.ts'
import { withStates } from '../../src/db/views/person-states.ts'
import {
  noStates,
  PERSON_STATES,
  type PersonRows,
  type PersonState,
  personFacts,
  personState,
  waveOf,
} from '../../src/domain/state/person-state.ts'
import type { BatchStatus, StepStatus } from '../../src/domain/state/transitions.ts'

/** Each disagreement as a sentence; none when all agree. */
export async function statesThatDisagree(
  db: Queryable,
  batchIds: readonly number[] | null = null,
): Promise<string[]> {
  const batches = await db.query<{ id: number; status: BatchStatus }>(
    'select id, status from batches where $1::bigint[] is null or id = any($1) order by id',
    [batchIds],
  )
  const lines = await findBatchLines(
    db,
    batches.map(({ id }) => id),
  )
  const counted = await withStates(db, [...lines.values()])
  const found: string[] = []
  for (const { id, states, wave, membersActive, membersFailed, membersRemoved } of counted) {
    const read = await readOneByOne(db, id, lines.get(id)!.status)
    const listed = await listMembers(db, id, {}, { sort: 'id', after: null, limit: 10_000, wave })
    for (const { id: memberId, state } of listed)
      if (state !== read.get(memberId))
        found.push(
          `batch ${id}: the list says ${state} of member ${memberId}, its rows say ${read.get(memberId)}`,
        )
    const counts = noStates()
    for (const state of read.values()) counts[state]++
    for (const state of PERSON_STATES)
      if (states[state] !== counts[state])
        found.push(
          `batch ${id}: ${states[state]} are counted as ${state}, by their rows it is ${counts[state]}`,
        )
    const total = PERSON_STATES.reduce((sum, state) => sum + states[state], 0)
    if (total !== membersActive + membersFailed + membersRemoved || total !== read.size)
      found.push(`batch ${id}: the states add up to ${total} of ${read.size} people`)
  }
  return found
}

export async function assertStatesAgree(db: Queryable): Promise<void> {
  assert.deepEqual(await statesThatDisagree(db), [])
}

async function readOneByOne(
  db: Queryable,
  batchId: number,
  status: BatchStatus,
): Promise<Map<number, PersonState>> {
  const wave = waveOf(status, await loadPhases(db, batchId))
  const people = await db.query<Pick<PersonRows, 'id' | 'status'>>(
    'select id, status from batch_members where batch_id = $1',
    [batchId],
  )
  const steps = await db.query<{ memberId: number } & PersonRows['steps'][number]>(
    `select batch_member_id as member_id, phase_execution_id as phase_id, status from step_executions
      where batch_id = $1 and kind = 'phase'`,
    [batchId],
  )
  const undos = await db.query<{ memberId: number; status: StepStatus }>(
    `select batch_member_id as "memberId", status from step_executions where batch_id = $1 and kind = 'undo'`,
    [batchId],
  )
  const stepsOf = Map.groupBy(steps, ({ memberId }) => memberId)
  return new Map(
    people.map((one) => [
      one.id,
      personState(
        personFacts(
          {
            ...one,
            steps: stepsOf.get(one.id) ?? [],
            undo: undos.filter(({ memberId }) => memberId === one.id).map(({ status: is }) => is),
          },
          wave,
        ),
      ),
    ]),
  )
}
