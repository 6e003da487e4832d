// Messages that cannot be parsed, or match nothing here, become dead letters with a reason. Nothing changes, nothing is blocked, and the
// reason never quotes the body.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import type { ReceivedMessage } from '../../src/bus/bus.ts'
import { handleChunk } from '../../src/orchestrator/orchestrator.ts'
import { deadLettersOf, deliver, type Envelope } from './foreign-mail.ts'
import { batchOf, because, jobIds, runbook, step } from './looking.ts'
import { stepLook } from './timeline.ts'
import { story, type World } from './world.ts'

async function begin(world: World): Promise<number> {
  await world.publish(runbook('wave', { 'cutover T-0': [step('first'), step('second')] }))
  const batchId = await world.batch('wave', 1)
  await world.orchestrate()
  return batchId
}

const events: Envelope = { topic: 'orchestrator-events' }
const result = (body: Record<string, Json>) => ({ jobId: 'step-1', status: 'Success', ...body })
const nowhere = (what: string) =>
  `UnknownSubject: No batch, member or step in this database matches ${what}.`

const LETTERS: { what: string; body: Json; envelope?: Envelope; said: string | RegExp }[] = [
  { what: 'no JSON', body: '{"jobId":', said: 'Unreadable: The body (9 characters) is not JSON.' },
  { what: 'an empty body', body: '', said: 'Unreadable: The body (0 characters) is not JSON.' },
  { what: 'null', body: 'null', said: 'Unreadable: The body is null, not an object.' },
  { what: 'a list', body: [1], said: 'Unreadable: The body is a list, not an object.' },
  { what: 'a number', body: '5', said: 'Unreadable: The body is a number, not an object.' },
  {
    what: 'a type nobody knows',
    body: {},
    envelope: { type: 'worker-gossip' },
    said: /^Unreadable: The message type is "worker-gossip"; known: batch-init, /,
  },
  {
    what: 'a body of another type',
    body: result({ messageType: 'worker-hello' }),
    said: 'Unreadable: The message is a worker-result, but its body names another type.',
  },
  {
    what: 'no job id',
    body: { status: 'Success' },
    said: /^Unreadable: The body does not fit a worker-result: jobId: /,
  },
  {
    what: 'a job id that is a number',
    body: result({ jobId: 1 }),
    said: /^Unreadable: The body does not fit a worker-result: jobId: /,
  },
  {
    what: 'a status nobody knows',
    body: result({ status: 'Maybe' }),
    said: 'Unreadable: The body does not fit a worker-result: status: expected Success or Failure.',
  },
  {
    what: 'a worker that is no name',
    body: result({ workerId: 7 }),
    said: /^Unreadable: The body does not fit a worker-result: workerId: /,
  },
  {
    what: 'a result nested 50,000 deep',
    body: `{"jobId":"step-1","status":"Success","result":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    said: 'Unreadable: The body is nested deeper than 100 levels.',
  },
  {
    what: 'a step that is not here',
    body: result({ jobId: 'step-999' }),
    said: nowhere('job "step-999"'),
  },
  {
    what: 'a job id of other making',
    body: result({ jobId: 'job/7' }),
    said: nowhere('job "job/7"'),
  },
  {
    what: 'a step number beyond all numbers',
    body: result({ jobId: 'step-9007199254740993' }),
    said: nowhere('job "step-9007199254740993"'),
  },
  {
    what: 'a negative step number',
    body: result({ jobId: 'step--1' }),
    said: nowhere('job "step--1"'),
  },
  {
    what: 'a retry written another way',
    body: result({ jobId: 'step-1-retry-0' }),
    said: nowhere('job "step-1-retry-0"'),
  },
  {
    what: 'a job on the way of results',
    body: { jobId: 'x', batchId: 1, workerId: 'w1', functionName: 'F', parameters: {} },
    envelope: { type: 'worker-job' },
    said: 'WrongTopic: A worker-job came with the results of workers.',
  },
  {
    what: 'a phase that is not here',
    body: { batchId: 1, phaseExecutionId: 999 },
    envelope: { ...events, type: 'phase-due' },
    said: nowhere('phase-due'),
  },
  {
    what: 'a member that is not here',
    body: { batchId: 1, batchMemberId: 999 },
    envelope: { ...events, type: 'member-added' },
    said: nowhere('member-added'),
  },
  {
    what: 'a leaver that is not here',
    body: { batchId: 1, batchMemberId: 999 },
    envelope: { ...events, type: 'member-removed' },
    said: nowhere('member-removed'),
  },
  {
    what: 'a poll of a step that is not here',
    body: { stepExecutionId: 999 },
    envelope: { ...events, type: 'poll-check' },
    said: nowhere('poll-check'),
  },
  {
    what: 'a batch that is not here',
    body: { batchId: 999 },
    envelope: { ...events, type: 'batch-init' },
    said: /999/,
  },
]
for (const { what, body, envelope, said } of LETTERS) {
  it(`${what}: dead-lettered, and the batch continues`, () =>
    story({}, async (world) => {
      const batchId = await begin(world)
      await deliver(world, body, envelope)
      await world.settle()
      const letters = await deadLettersOf(world)
      assert.equal(letters.length, 1)
      if (typeof said === 'string') assert.equal(letters[0], said)
      else assert.match(letters[0]!, said)
      assert.deepEqual(jobIds(world), ['step-1', 'step-2'])
      assert.deepEqual(await batchOf(world, batchId), {
        status: 'completed',
        active: 1,
        failed: 0,
        removed: 0,
        held: null,
      })
    }))
}

it("records a job id of another kind than its step's as foreign", () =>
  story({}, async (world) => {
    await begin(world)
    await deliver(world, result({ jobId: 'rollback-1' }))
    await world.orchestrate()
    assert.deepEqual(await because(world, 'unexpected_result'), [
      "late or foreign: job rollback-1 is not the step's job (step-1)",
    ])
    assert.equal((await stepLook(world, 1)).status, 'dispatched')
  }))

it('counts the good results in a chunk with bad ones', () =>
  story({}, async (world) => {
    await begin(world)
    await deliver(world, 'nonsense')
    await deliver(world, result({}))
    await deliver(world, result({ jobId: 'step-999' }))
    await world.orchestrate()
    assert.equal((await stepLook(world, 1)).status, 'succeeded')
    assert.equal((await deadLettersOf(world)).length, 2)
  }))

const LARGE = 'x'.repeat(300_000)

it('refuses 300 KB of text, more than our bus carries, and tells the worker', () =>
  story({}, async (world) => {
    await begin(world)
    await assert.rejects(world.result({ jobId: 'step-1' }, { ok: LARGE }), {
      code: 'MESSAGE_TOO_LARGE',
    })
  }))

it('keeps 300 KB from another transport; a step that would pass them on fails', () =>
  story({}, async (world) => {
    const make = step('make', 'output_params: { Text: text }')
    const use = `{ name: use, worker_id: w1, function: Use, params: { T: "{{Text}}" } }`
    await world.publish(runbook('wave', { 'cutover T-0': [make, use] }))
    const batchId = await world.batch('wave', 1)
    await world.orchestrate()
    const large: ReceivedMessage = {
      topic: 'worker-results',
      messageId: 'large',
      type: 'worker-result',
      properties: {},
      body: JSON.stringify(result({ result: { text: LARGE } })),
      deliveryCount: 1,
      enqueuedAt: world.clock.now(),
      lease: { sequence: '1', token: 'x' },
    }
    assert.deepEqual(await handleChunk(world.engine, [large]), ['ack'])
    await world.orchestrate()
    assert.equal((await stepLook(world, 1)).status, 'succeeded')
    assert.match((await stepLook(world, 2)).error!, /a message takes 200000: shorten "T"/)
    assert.equal((await batchOf(world, batchId)).held, null)
  }))
