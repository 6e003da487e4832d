// Where people stand by their rows: the SQL that lists, counts and filters use, asked about people who are given with the question.
import assert from 'node:assert/strict'
import { after as afterAll, before, describe, it } from 'node:test'
import { FACT_SQL, memberState } from '../../../src/db/views/person-states.ts'
import type { Phase } from '../../../src/domain/state/facts.ts'
import { type PersonState, waveOf } from '../../../src/domain/state/person-state.ts'
import type {
  BatchStatus,
  MemberStatus,
  StepStatus,
} from '../../../src/domain/state/transitions.ts'
import { openTestPglite, type TestDatabase } from '../../kit/databases.ts'

const AT = new Date('2030-03-01T22:00:00Z')

type WavePhase = Parameters<typeof waveOf>[1][number]
const phase = (
  id: number,
  offsetMinutes: number,
  status: Phase['status'],
  more: Partial<WavePhase> = {},
): WavePhase => ({
  id,
  name: `phase-${id}`,
  index: id,
  offsetMinutes,
  runbookVersion: 1,
  status,
  skippedBecause: null,
  dispatchedAt: ['pending', 'skipped', 'cancelled'].includes(status) ? null : AT,
  expandedAt: ['pending', 'skipped', 'cancelled'].includes(status) ? null : AT,
  rampThrough: null,
  members: { total: 0, passed: 0, failed: 0, stopped: 0, removed: 0 },
  ...more,
})
const [PREPARE, CUTOVER, AFTERCARE] = [1, 2, 3] as const
type Three = readonly [Phase['status'], Phase['status'], Phase['status']]
const three = ([prepare, cutover, aftercare]: Three): WavePhase[] => [
  phase(PREPARE, 7_200, prepare),
  phase(CUTOVER, 0, cutover),
  phase(AFTERCARE, -1_440, aftercare),
]

interface PersonRows {
  readonly id: number
  readonly status: MemberStatus
  /** Of the phases. */
  readonly steps: readonly { readonly phaseId: number; readonly status: StepStatus }[]
  /** Of undo steps. */
  readonly undo: readonly StepStatus[]
}

const person = (
  steps: PersonRows['steps'],
  status: PersonRows['status'] = 'active',
  undo: PersonRows['undo'] = [],
): PersonRows => ({
  id: 5,
  status,
  steps,
  undo,
})
const stepsOf = (...steps: readonly (readonly [phaseId: number, status: StepStatus])[]) =>
  steps.map(([phaseId, status]) => ({ phaseId, status }))

let test: TestDatabase
before(async () => {
  test = await openTestPglite()
})
afterAll(() => test.close())

/** An expression about member `m`; her rows take the place of the table of steps. */
async function ask({ id, status, steps, undo }: PersonRows, sql: string): Promise<unknown> {
  const rows = [
    ...steps.map((step) => ({ kind: 'phase', phase: step.phaseId, status: step.status })),
    ...undo.map((one) => ({ kind: 'undo', phase: null, status: one })),
  ]
  const [found] = await test.db.query<{ said: unknown }>(
    `with step_executions as (
       select kind, phase as phase_execution_id, status, $1::bigint as batch_member_id
         from jsonb_to_recordset($3::jsonb) as r (kind text, phase bigint, status text))
     select ${sql} as said from (select $1::bigint as id, $2::text as status) m`,
    [id, status, JSON.stringify(rows)],
  )
  return found!.said
}
const stateOf = (rows: PersonRows, phases: readonly WavePhase[], status: BatchStatus = 'active') =>
  ask(rows, memberState(waveOf(status, phases)))

describe('where a person stands', () => {
  it('follows a perfect night: scheduled, preparing, cutting over, cut over, done', async () => {
    const P = [PREPARE, 'succeeded'] as const
    const C = [CUTOVER, 'succeeded'] as const
    const night: readonly (readonly [PersonState, Three, ...(readonly [number, StepStatus])[]])[] =
      [
        ['scheduled', ['pending', 'pending', 'pending']],
        ['preparing', ['dispatched', 'pending', 'pending'], [PREPARE, 'dispatched']],
        ['preparing', ['completed', 'pending', 'pending'], P],
        ['cutting_over', ['completed', 'dispatched', 'pending'], P, [CUTOVER, 'polling']],
        ['cut_over', ['completed', 'dispatched', 'pending'], P, C],
        ['cut_over', ['completed', 'completed', 'pending'], P, C],
        ['cut_over', ['completed', 'completed', 'dispatched'], P, C, [AFTERCARE, 'pending']],
        ['done', ['completed', 'completed', 'dispatched'], P, C, [AFTERCARE, 'skipped']],
      ]
    for (const [state, phases, ...steps] of night)
      assert.equal(
        await stateOf(person(stepsOf(...steps)), three(phases)),
        state,
        `${phases} ${steps}`,
      )
    const all = stepsOf(P, C, [AFTERCARE, 'succeeded'])
    const ended = three(['completed', 'completed', 'completed'])
    assert.equal(await stateOf(person(all), ended, 'completed'), 'done')
  })

  it('tells a failure from one that was rolled back', async () => {
    const phases = three(['completed', 'pending', 'pending'])
    const failed = (...statuses: StepStatus[]) =>
      stateOf(
        person(
          statuses.map((status) => ({ phaseId: PREPARE, status })),
          'failed',
        ),
        phases,
      )
    assert.equal(await failed('succeeded', 'failed'), 'failed')
    assert.equal(await failed('succeeded', 'poll_timeout'), 'failed')
    assert.equal(await failed('succeeded', 'rolled_back', 'cancelled'), 'rolled_back')
    assert.equal(await failed('rolled_back', 'failed'), 'failed')
  })

  it('tells who was taken back on purpose from a failure, unless the undo failed or something fails later', async () => {
    const phases = three(['completed', 'completed', 'pending'])
    const after = (undo: readonly StepStatus[], ...statuses: StepStatus[]) =>
      stateOf(
        person(
          statuses.map((status) => ({ phaseId: CUTOVER, status })),
          'failed',
          undo,
        ),
        phases,
      )
    assert.equal(await after(['pending'], 'undone', 'succeeded'), 'taken_back')
    assert.equal(
      await after(['succeeded'], 'undone', 'failed'),
      'taken_back',
      'also after a failure',
    )
    assert.equal(await after(['succeeded'], 'cancelled', 'cancelled'), 'taken_back')
    assert.equal(await after(['succeeded', 'failed'], 'undone', 'undone'), 'failed')
    assert.equal(await after(['succeeded'], 'succeeded', 'failed'), 'failed', 'retried, and failed')
    assert.equal(await after(['succeeded'], 'rolled_back'), 'rolled_back')
  })

  it('a cancelled wave stops those who are not cut over, and no one else', async () => {
    const phases = [
      phase(PREPARE, 7_200, 'completed'),
      phase(CUTOVER, 0, 'cancelled', { dispatchedAt: AT, expandedAt: AT }),
      phase(AFTERCARE, -1_440, 'cancelled'),
    ]
    const P = [PREPARE, 'succeeded'] as const
    const rows = (status: StepStatus) => person(stepsOf(P, [CUTOVER, status]))
    assert.equal(await stateOf(rows('cancelled'), phases, 'cancelled'), 'stopped')
    assert.equal(await stateOf(rows('succeeded'), phases, 'cancelled'), 'cut_over')
    assert.equal(
      await stateOf(person([]), three(['pending', 'pending', 'pending']), 'failed'),
      'stopped',
    )
  })

  it('who left is removed, wherever they were', async () => {
    const phases = three(['completed', 'completed', 'pending'])
    const steps = stepsOf([PREPARE, 'succeeded'], [CUTOVER, 'succeeded'])
    assert.equal(await stateOf(person(steps, 'removed'), phases), 'removed')
  })

  it('who failed before the cut-over has not passed it for want of steps there', async () => {
    const phases = three(['completed', 'completed', 'pending'])
    const rows = person(stepsOf([PREPARE, 'failed']), 'failed')
    assert.equal(await ask(rows, FACT_SQL.isCutOver(waveOf('active', phases))), false)
  })

  it('a late joiner is not cut over because the others are', async () => {
    const phases = three(['dispatched', 'dispatched', 'pending'])
    const late = person(stepsOf([PREPARE, 'pending'], [CUTOVER, 'pending']))
    assert.equal(await stateOf(late, phases), 'cutting_over')
    assert.notEqual(await stateOf(late, phases), 'cut_over')
    const written = three(['completed', 'completed', 'dispatched'])
    assert.equal(await stateOf(person([]), written), 'cutting_over', 'without one step yet')
  })

  it('in a ramp only the people of the share are cutting over', async () => {
    const phases = [
      phase(PREPARE, 7_200, 'completed'),
      phase(CUTOVER, 0, 'dispatched', { expandedAt: null, rampThrough: 5 }),
    ]
    const begun = person(stepsOf([PREPARE, 'succeeded'], [CUTOVER, 'pending']))
    assert.equal(await stateOf(begun, phases), 'cutting_over')
    assert.equal(
      await stateOf({ ...begun, id: 6, steps: stepsOf([PREPARE, 'succeeded']) }, phases),
      'preparing',
    )
    // She passed it in the wave that she left, and her share here has not begun.
    const moved = person(stepsOf([PREPARE, 'succeeded'], [CUTOVER, 'succeeded']))
    assert.equal(await stateOf({ ...moved, id: 6 }, phases), 'preparing')
  })
})

describe('the cut-over phase', () => {
  const P = [1, 'succeeded'] as const
  it('is the last one at T-0', async () => {
    const phases = [phase(1, 0, 'completed'), phase(2, 0, 'dispatched'), phase(3, -60, 'pending')]
    assert.equal(await stateOf(person(stepsOf(P, [2, 'pending'])), phases), 'cutting_over')
    assert.equal(await stateOf(person(stepsOf(P, [2, 'succeeded'])), phases), 'cut_over')
    assert.equal(waveOf('active', phases).state, 'cutting_over')
  })
  it('without one at T-0 is the last before it, or else the first after it', async () => {
    const before = [phase(1, 60, 'completed'), phase(2, -60, 'pending')]
    assert.equal(await stateOf(person(stepsOf(P)), before), 'cut_over')
    const later = [phase(1, -60, 'completed'), phase(2, -120, 'pending')]
    assert.equal(await stateOf(person(stepsOf(P)), later), 'cut_over')
  })
  it('is no phase that was skipped as overdue, and of several versions the newest', async () => {
    const overdue = { skippedBecause: 'overdue' } as const
    const phases = [phase(1, 0, 'skipped', overdue), phase(2, -60, 'dispatched')]
    assert.equal(await stateOf(person(stepsOf([2, 'pending'])), phases), 'cutting_over')
    const again = [
      phase(1, 0, 'completed', { name: 'Cutover' }),
      phase(2, 0, 'pending', { name: 'cutover', runbookVersion: 2 }),
    ]
    assert.equal(await stateOf(person(stepsOf(P)), again), 'scheduled')
  })
})
