// Every field that a worker controls, its worst value, and what that does. A worker may lie about its own jobs; whatever it sends, nothing
// of another worker, batch or the whole system changes.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json, JsonObject } from '../../src/base/text/json.ts'
import { WORKER_RESULTS } from '../../src/bus/bus.ts'
import { recordWorker } from '../../src/db/state/workers.ts'
import { MESSAGE_FORMATS } from '../../src/domain/messages/messages.ts'
import { handleChunk } from '../../src/orchestrator/orchestrator.ts'
import { deadLettersOf, deliver } from '../stories/foreign-mail.ts'
import { runbook, step } from '../stories/looking.ts'
import { START, story, type World } from '../stories/world.ts'

/** Step 1 is a job of the attacker, step 2 one of the victim's in a batch of its own. Both are out. */
async function begin(world: World): Promise<void> {
  world.workers = []
  for (const worker of ['mallory', 'victim']) {
    const hello = { workerId: worker, version: '1', slots: 10, functions: [] }
    await world.db.transaction((tx) => recordWorker(tx, hello, START))
    const steps = runbook(worker, {
      'move T-0': [step('create', 'retry: { max_retries: 1, interval: 60s }')],
    })
    await world.publish(steps.replaceAll('worker_id: w1', `worker_id: ${worker}`))
    await world.batch(worker, 1)
    await world.orchestrate()
  }
}

/** All that is not the attacker's: the victim's batch, and what concerns everybody. */
const othersIn = async ({ db }: World) => ({
  batch: await db.query("select status, held_reason from batches where runbook_name = 'victim'"),
  steps: await db.query(
    `select s.status, s.attempt, s.job_id, s.result_json, s.late_result_json from step_executions s
       join batches b on b.id = s.batch_id where b.runbook_name = 'victim'`,
  ),
  attempts: await db.query(
    "select a.outcome from attempts a join batches b on b.id = a.batch_id where b.runbook_name = 'victim'",
  ),
  waits: await db.query("select kind, job_id from waits where worker_id = 'victim'"),
  holds: await db.query('select scope, target from holds'),
  epochs: await db.query('select number from epochs'),
  jobs: await db.query("select message_id from messages where worker_id = 'victim'"),
})

const look = async ({ db }: World): Promise<string> => {
  const [row] = await db.query<{ said: string }>(
    "select s.status || ' ' || s.attempt as said from step_executions s join batches b on b.id = s.batch_id where b.runbook_name = 'mallory'",
  )
  return row!.said
}

const HUGE = 'x'.repeat(100_000)
const RESULT: JsonObject = {
  jobId: 'step-1',
  workerId: 'mallory',
  status: 'Success',
  result: { ok: true },
  error: null,
}
const FAILURE: JsonObject = { ...RESULT, status: 'Failure', result: null }
const SUCCEEDED = 'succeeded 0'
const RETRIED = 'pending 1'
const OUT = 'dispatched 0'

interface Worst {
  readonly what: string
  readonly body: Json
  /** Of the sender's own step. */
  readonly own: string
  /** The reason of the dead letter; without one the message is taken. */
  readonly refused?: string
}

const UNDO: JsonObject = {
  changed: true,
  target: 'kim',
  before: {},
  undo: { functionName: 'Remove-Everybody', parameters: { Who: 'kim' } },
}

/** By field: a field without a row fails. */
const RESULTS: Readonly<Record<string, readonly Worst[]>> = {
  jobId: [
    {
      what: 'names an epoch that the database never began',
      body: { ...RESULT, jobId: 'step-77~abcdef' },
      own: OUT,
      refused: 'UnknownEpoch',
    },
    {
      what: "names such an epoch and another worker's step",
      body: { ...RESULT, jobId: 'step-2~abcdef' },
      own: OUT,
      refused: 'UnknownEpoch',
    },
    { what: "is another worker's", body: { ...RESULT, jobId: 'step-2' }, own: OUT },
    { what: "is another worker's, and fails", body: { ...FAILURE, jobId: 'step-2' }, own: OUT },
    {
      what: 'is a step that nobody has',
      body: { ...RESULT, jobId: 'step-999999999999' },
      own: OUT,
      refused: 'UnknownSubject',
    },
    {
      what: 'is no number of ours',
      body: { ...RESULT, jobId: `step-${'9'.repeat(400)}` },
      own: OUT,
      refused: 'UnknownSubject',
    },
    {
      what: 'is an attempt that was never made',
      body: { ...RESULT, jobId: 'step-1-retry-7-poll-9' },
      own: OUT,
    },
    { what: 'is long', body: { ...RESULT, jobId: HUGE }, own: OUT, refused: 'UnknownSubject' },
  ],
  workerId: [
    {
      what: 'is another',
      body: { ...RESULT, workerId: 'victim' },
      own: OUT,
      refused: 'WrongSender',
    },
    {
      what: "is another, for the other's job",
      body: { ...RESULT, jobId: 'step-2', workerId: 'victim' },
      own: OUT,
      refused: 'WrongSender',
    },
    {
      what: "is missing, for the other's job",
      body: { ...RESULT, jobId: 'step-2', workerId: null },
      own: OUT,
    },
    {
      what: 'is a text with control characters',
      body: { ...RESULT, workerId: '\u0000\u001b[31m' },
      own: OUT,
      refused: 'WrongSender',
    },
  ],
  status: [
    {
      what: 'is something else',
      body: { ...RESULT, status: 'Maybe' },
      own: OUT,
      refused: 'Unreadable',
    },
  ],
  result: [
    { what: 'is long', body: { ...RESULT, result: { text: HUGE } }, own: SUCCEEDED },
    {
      what: 'sets a prototype',
      body: JSON.stringify({ ...RESULT, result: 0 }).replace(
        '"result":0',
        '"result":{"__proto__":{"complete":false}}',
      ),
      own: SUCCEEDED,
    },
    {
      what: 'is never complete, without a poll',
      body: { ...RESULT, result: { complete: false } },
      own: RETRIED,
    },
    {
      what: 'holds a number that no database stores',
      body: JSON.stringify({ ...RESULT, result: 0 }).replace('"result":0', '"result":1e999'),
      own: SUCCEEDED,
    },
    {
      what: 'holds half a character and a NUL',
      body: { ...RESULT, result: '\ud800\u0000' },
      own: SUCCEEDED,
    },
  ],
  error: [
    { what: 'is long', body: { ...FAILURE, error: { message: HUGE, type: HUGE } }, own: RETRIED },
    {
      what: 'gives the job back',
      body: { ...FAILURE, error: { message: 'no', type: 'GivenBack' } },
      own: 'dispatched 1',
    },
    {
      what: 'is final',
      body: { ...FAILURE, error: { message: 'no', isFinal: true } },
      own: 'failed 0',
    },
    { what: 'is a list', body: { ...FAILURE, error: [HUGE] }, own: RETRIED },
  ],
  durationMs: [
    { what: 'is negative', body: { ...RESULT, durationMs: -1 }, own: SUCCEEDED },
    { what: 'is longer than any clock', body: { ...RESULT, durationMs: 1e300 }, own: SUCCEEDED },
  ],
  togetherMax: [
    {
      what: 'is more than any worker has',
      body: { ...RESULT, togetherMax: 2 ** 53 },
      own: SUCCEEDED,
    },
  ],
  batchId: [{ what: "is another worker's", body: { ...RESULT, batchId: 2 }, own: SUCCEEDED }],
  functionName: [{ what: 'is another', body: { ...RESULT, functionName: HUGE }, own: SUCCEEDED }],
  resultType: [{ what: 'is long', body: { ...RESULT, resultType: HUGE }, own: SUCCEEDED }],
  timestamp: [
    {
      what: 'is in the year 9999',
      body: { ...RESULT, timestamp: '9999-12-31T23:59:59Z' },
      own: SUCCEEDED,
    },
  ],
  traceparent: [{ what: 'is none', body: { ...RESULT, traceparent: HUGE }, own: SUCCEEDED }],
  correlationData: [
    {
      what: "names another worker's step",
      body: { ...RESULT, correlationData: { stepExecutionId: 2, runbookName: 'victim' } },
      own: SUCCEEDED,
    },
    {
      what: "names another worker's step, for a job with an id of its own",
      body: { ...RESULT, jobId: 'job-of-mine', correlationData: { stepExecutionId: 2 } },
      own: OUT,
    },
    {
      what: "names another worker's init step, for a job with an id of its own",
      body: { ...FAILURE, jobId: 'job-of-mine', correlationData: { initExecutionId: 2 } },
      own: OUT,
    },
  ],
  // What it names is called only when a person asks for an undo, and by the worker that named it.
  effect: [
    {
      what: 'is undone by a function of its choice',
      body: { ...RESULT, effect: UNDO },
      own: SUCCEEDED,
    },
    {
      what: 'asks for a secret',
      body: {
        ...RESULT,
        effect: { ...UNDO, undo: { functionName: 'F', parameters: { P: '{{ secret:ADMIN }}' } } },
      },
      own: SUCCEEDED,
    },
    {
      what: 'is a point of no return',
      body: {
        ...RESULT,
        effect: { changed: true, target: HUGE, irreversible: HUGE, isPointOfNoReturn: true },
      },
      own: SUCCEEDED,
    },
  ],
}

const HELLO: JsonObject = { messageType: 'worker-hello', workerId: 'mallory', functions: [] }
const HELLOS: Readonly<Record<string, readonly Worst[]>> = {
  workerId: [
    {
      what: 'is another',
      body: { ...HELLO, workerId: 'victim' },
      own: OUT,
      refused: 'WrongSender',
    },
    {
      what: 'is none that a runbook can name',
      body: { ...HELLO, workerId: 'a b' },
      own: OUT,
      refused: 'Unreadable',
    },
  ],
  functions: [
    {
      what: 'are many and long',
      body: {
        ...HELLO,
        functions: Array.from({ length: 500 }, () => ({
          name: 'f'.repeat(300),
          parameters: { pattern: '(a+)+$' },
        })),
      },
      own: OUT,
    },
  ],
  version: [{ what: 'is long', body: { ...HELLO, version: HUGE }, own: OUT }],
  slots: [
    {
      what: 'are more than the database counts',
      body: { ...HELLO, slots: 2 ** 40 },
      own: OUT,
      refused: 'Unreadable',
    },
  ],
  throttles: [
    {
      what: 'are many',
      body: { ...HELLO, throttles: Array.from({ length: 9_000 }, () => ({})) },
      own: OUT,
    },
  ],
}

const TYPES = { 'worker-result': RESULTS, 'worker-hello': HELLOS } as const

for (const [type, fields] of Object.entries(TYPES))
  describe(`a ${type}`, () => {
    it('has a row for each field', () => {
      const { shape } = MESSAGE_FORMATS[type as keyof typeof TYPES].read
      assert.deepEqual(Object.keys(fields).sort(), Object.keys(shape).sort())
    })

    for (const [field, rows] of Object.entries(fields))
      for (const { what, body, own, refused } of rows)
        it(`whose ${field} ${what}: ${refused ?? own}`, () =>
          story({}, async (world) => {
            await begin(world)
            const before = await othersIn(world)
            await deliver(world, body, { type, workerId: 'mallory' })
            await world.orchestrate()
            assert.deepEqual(await othersIn(world), before)
            assert.equal(await look(world), own)
            assert.deepEqual(
              (await deadLettersOf(world)).map((said) => said.split(':')[0]),
              refused === undefined ? [] : [refused],
            )
          }))
  })

describe('a message of any other type among the results', () => {
  const EVENTS: readonly JsonObject[] = [
    { messageType: 'batch-init', batchId: 2 },
    { messageType: 'phase-due', batchId: 2, phaseExecutionId: 2 },
    { messageType: 'member-added', batchId: 2, batchMemberId: 2 },
    { messageType: 'member-removed', batchId: 2, batchMemberId: 2 },
    { messageType: 'poll-check', stepExecutionId: 2 },
    { messageType: 'retry-check', stepExecutionId: 2 },
    {
      messageType: 'worker-recall',
      workerId: 'victim',
      since: START.toISOString(),
      epoch: 'abcdef',
    },
    { messageType: 'worker-stop', workerId: 'victim', jobIds: ['step-2'], because: 'no' },
  ]
  for (const [sender, workerId] of [
    ['in its name', 'mallory'],
    ['in nobody’s', null],
  ] as const)
    for (const body of EVENTS)
      it(`does nothing: ${String(body.messageType)}, ${sender}`, () =>
        story({}, async (world) => {
          await begin(world)
          const before = await othersIn(world)
          await deliver(world, body, { type: String(body.messageType), workerId })
          await world.orchestrate()
          assert.deepEqual(await othersIn(world), before)
          const [said] = await deadLettersOf(world)
          assert.match(said!, /^WrongTopic: /)
        }))
})

it('an announcement that cannot be stored leaves the results next to it alone', () =>
  story({}, async (world) => {
    await begin(world)
    await deliver(world, HELLO, { type: 'worker-hello', workerId: 'mallory' })
    await deliver(world, RESULT, { workerId: 'mallory' })
    await world.db.script(
      "alter table workers add constraint none check (worker_id <> 'mallory') not valid",
    )
    const received = await world.bus.receive(WORKER_RESULTS, 10)
    const outcomes = await handleChunk(world.engine, received)
    await world.db.script('alter table workers drop constraint none')
    assert.deepEqual(
      outcomes.map((one) => (typeof one === 'string' ? one : one.deadLetter)),
      ['HandlerFailed', 'ack'],
    )
  }))
