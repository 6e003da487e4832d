import assert from 'node:assert/strict'
import { it } from 'node:test'
import { story } from './world.ts'

const YAML = `
name: happy
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
phases:
  - name: prepare
    offset: T-1h
    steps:
      - { name: create, worker_id: w1, function: New-Thing, params: { Upn: "{{UserPrincipalName}}", N: "{{Number}}" }, output_params: { ThingId: id } }
      - { name: tag, worker_id: w1, function: Set-Tag, params: { Id: "{{ThingId}}" } }
  - name: cutover
    offset: T-0
    steps:
      - { name: switch, worker_id: w1, function: Switch-Thing, params: { Id: "{{ThingId}}", Batch: "{{_batch_id}}" } }
`

it('every member passes every step, phase by phase', () =>
  story({}, async (world) => {
    world.answer = (job) => ({
      ok: job.functionName === 'New-Thing' ? { id: `T-${job.parameters.N}` } : true,
    })
    await world.publish(YAML)
    const batchId = await world.batch('happy', 3, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(
      world.jobs.map((job) => [job.functionName, job.parameters]),
      [
        ['New-Thing', { Upn: 'user1@contoso.example', N: 1 }],
        ['New-Thing', { Upn: 'user2@contoso.example', N: 2 }],
        ['New-Thing', { Upn: 'user3@contoso.example', N: 3 }],
        ['Set-Tag', { Id: 'T-1' }],
        ['Set-Tag', { Id: 'T-2' }],
        ['Set-Tag', { Id: 'T-3' }],
      ],
    )
    await world.pass(3599)
    assert.equal(world.jobs.length, 6)
    await world.pass(1)
    assert.deepEqual(
      world.jobs.slice(6).map((job) => job.parameters),
      [1, 2, 3].map((n) => ({ Id: `T-${n}`, Batch: batchId })),
    )
    const [batch] = await world.db.query(
      'select status, members_active, members_failed from batches',
    )
    assert.deepEqual(batch, { status: 'completed', membersActive: 3, membersFailed: 0 })
    const phases = await world.db.query(
      'select phase_name, status, members_total, members_passed, steps_succeeded from phase_executions order by id',
    )
    assert.deepEqual(phases, [
      {
        phaseName: 'prepare',
        status: 'completed',
        membersTotal: 3,
        membersPassed: 3,
        stepsSucceeded: 6,
      },
      {
        phaseName: 'cutover',
        status: 'completed',
        membersTotal: 3,
        membersPassed: 3,
        stepsSucceeded: 3,
      },
    ])
  }))
