// Templates that do not resolve: the step fails with the name, nothing is sent or retried, and no other member is harmed.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  batchOf,
  because,
  calls,
  jobIds,
  memberId,
  phasesOf,
  runbook,
  step,
  stepsOf,
} from './looking.ts'
import { passUntil, stepLook } from './timeline.ts'
import { people, story, type World } from './world.ts'

const set = (params: string, more: string) =>
  `{ name: set, worker_id: w1, function: Set, params: { ${params} }, ${more} }`
const RETRIED = 'retry: { max_retries: 3, interval: 10s }'
const UNDO = `rollbacks: { undo: [${step('undo')}] }`

it('names every variable and its nearest match; not retried, not sent, not rolled back', () =>
  story({}, async (world) => {
    const members = people(2).map((member, i) =>
      i === 0 ? { ...member, data: { UserPrincipalName: member.key, DisplayName: 'A' } } : member,
    )
    const words = 'Upn: "{{UserPrincipalName}}", A: "{{Name}} and {{Number}}", B: "{{DisplayNam}}"'
    const one = set(words, `${RETRIED}, on_failure: undo`)
    await world.publish(runbook('wave', { 'cutover T-0': [step('create'), one] }, UNDO))
    const batchId = await world.batch('wave', members)
    await world.settle()
    await world.pass(3600)
    assert.deepEqual(calls(world).sort(), ['create user1', 'create user2'])
    assert.deepEqual(await because(world, 'unresolved'), [
      'unresolved: {{Name}}, {{Number}}, {{DisplayNam}} (did you mean {{DisplayName}}?)',
      'unresolved: {{DisplayNam}}',
    ])
    assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 1)), [
      'create succeeded',
      'set failed',
    ])
    assert.deepEqual(await stepLook(world, 2), {
      status: 'failed',
      attempt: 0,
      retries: 0,
      polls: 0,
      error: 'unresolved: {{Name}}, {{Number}}, {{DisplayNam}} (did you mean {{DisplayName}}?)',
    })
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('fails only the member whose data lacks the column', () =>
  story({}, async (world) => {
    const members = people(3).map((member, i) =>
      i === 1 ? { ...member, data: { UserPrincipalName: member.key } } : member,
    )
    await world.publish(
      runbook('wave', {
        'cutover T-0': [set('Upn: "{{UserPrincipalName}}", N: "{{Name}}"', RETRIED)],
      }),
    )
    const batchId = await world.batch('wave', members)
    await world.settle()
    assert.deepEqual(calls(world), ['Set user1', 'Set user3'])
    assert.deepEqual(await phasesOf(world, batchId), ['cutover completed 3: 2 passed, 1 failed'])
  }))

async function failOnce(world: World): Promise<number> {
  world.answer = ({ jobId, functionName }) =>
    jobId === 'step-1' && functionName === 'Set' ? { fail: 'wrong name' } : { ok: true }
  const one = set('Upn: "{{UserPrincipalName}}", Name: "{{Name}}"', `${RETRIED}, on_failure: undo`)
  await world.publish(runbook('wave', { 'cutover T-0': [one] }, UNDO))
  const batchId = await world.batch('wave', 1)
  await world.settle()
  return batchId
}

it('a retry uses the data of its own time', () =>
  story({}, async (world) => {
    await failOnce(world)
    await world.db.query(
      `update batch_members set data_json = jsonb_set(data_json, '{Name}', '"Right"')`,
    )
    await passUntil(world, 10)
    assert.deepEqual(
      world.jobs.map(({ jobId, parameters }) => [jobId, parameters.Name]),
      [
        ['step-1', 'User 1'],
        ['step-1-retry-1', 'Right'],
      ],
    )
    const [row] = await world.db.query(
      'select params_json as params from step_executions where id = 1',
    )
    assert.deepEqual(row, { params: { Upn: 'user1@contoso.example', Name: 'Right' } })
  }))

it('rolls back a retry that no longer resolves: an attempt had reached a worker', () =>
  story({}, async (world) => {
    await failOnce(world)
    await world.db.query(`update batch_members set data_json = data_json - 'Name'`)
    await passUntil(world, 10)
    assert.deepEqual(jobIds(world), ['step-1', 'rollback-2'])
    assert.deepEqual(await because(world, 'unresolved'), ['unresolved: {{Name}}'])
    assert.equal((await stepLook(world, 1)).status, 'rolled_back')
  }))

it("resolves the function's template; a result that is not a name fails the step", () =>
  story({}, async (world) => {
    const members = people(2).map((member, i) => ({
      ...member,
      data: { ...member.data, Action: i === 0 ? 'Add-Member' : '' },
    }))
    const one = `{ name: act, worker_id: w1, function: "{{Action}}", params: { Upn: "{{UserPrincipalName}}" } }`
    await world.publish(runbook('wave', { 'cutover T-0': [one] }))
    await world.batch('wave', members)
    await world.settle()
    assert.deepEqual(calls(world), ['Add-Member user1'])
    assert.deepEqual(await because(world, 'unresolved'), [
      'the function resolves to "", which is not a name',
    ])
  }))

it('never resolves templates inside values', () =>
  story({}, async (world) => {
    const member = {
      key: 'eve',
      data: { UserPrincipalName: 'eve', Name: '{{UserPrincipalName}} {{x' },
    }
    await world.publish(runbook('wave', { 'cutover T-0': [set('N: "<{{Name}}>"', RETRIED)] }))
    await world.batch('wave', [member])
    await world.settle()
    assert.deepEqual(world.jobs[0]!.parameters, { N: '<{{UserPrincipalName}} {{x>' })
  }))

it('parameters too large for a message fail the step, not the batch', () =>
  story({}, async (world) => {
    const data = { UserPrincipalName: 'big', Name: 'ü'.repeat(150_000) }
    await world.publish(runbook('wave', { 'cutover T-0': [set('N: "{{Name}}"', RETRIED)] }))
    const batchId = await world.batch('wave', [{ key: 'big', data }])
    await world.settle()
    assert.deepEqual(world.jobs, [])
    assert.equal((await batchOf(world, batchId)).held, null)
    assert.deepEqual(await because(world, 'unresolved'), [
      'the parameters have 300008 bytes, and a message takes 200000: shorten "N", which has 300002',
    ])
  }))
