// The fast checks and the schemas describe the same messages. Thousands of bodies, each one or two edits away from our own,
// keep them equal: whatever the fast check accepts, the schemas accept and read alike.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isOwnJob, isOwnSuccess } from '../../../src/domain/messages/fast-checks.ts'
import {
  MESSAGE_FORMATS,
  readMessage,
  writeMessage,
} from '../../../src/domain/messages/messages.ts'
import { seeded } from '../../kit/seeded.ts'

const correlationData = {
  stepExecutionId: 7,
  isInitStep: false,
  runbookName: 'contoso',
  runbookVersion: 1,
}
const JOB = {
  jobId: 'step-7',
  batchId: 1,
  workerId: 'w1',
  functionName: 'Get-Mailbox',
  parameters: { Upn: 'ada@contoso.example', Count: 1 },
  timeoutSec: 3_600,
  notAfter: '2026-03-01T11:00:00.000Z',
  correlationData,
}
const SUCCESS = {
  jobId: 'step-7',
  batchId: 1,
  workerId: 'w1',
  functionName: 'Get-Mailbox',
  status: 'Success',
  resultType: 'Object',
  result: { complete: true, data: { id: 'x' } },
  error: null,
  durationMs: 1.5,
  timestamp: '2026-03-01T10:00:00.000Z',
  correlationData,
}
const TRACED = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const KINDS = [
  { type: 'worker-job', good: JOB, isOwn: isOwnJob },
  { type: 'worker-job', good: { ...JOB, signature: 'key.mac' }, isOwn: isOwnJob },
  { type: 'worker-job', good: { ...JOB, isPolled: true }, isOwn: isOwnJob },
  { type: 'worker-job', good: { traceparent: TRACED, ...JOB }, isOwn: isOwnJob },
  { type: 'worker-result', good: SUCCESS, isOwn: isOwnSuccess },
  { type: 'worker-result', good: { traceparent: TRACED, ...SUCCESS }, isOwn: isOwnSuccess },
  { type: 'worker-result', good: { ...SUCCESS, togetherMax: 1_000 }, isOwn: isOwnSuccess },
] as const

/** Replacement values, some valid for other fields. */
const ODD: readonly unknown[] = [
  undefined,
  null,
  '',
  'x',
  'Success',
  'success',
  'Failure',
  0,
  -0,
  -1,
  1,
  7,
  1.5,
  2 ** 53,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  true,
  [],
  {},
  [1],
  { a: undefined },
  correlationData,
  '2026-02-28T10:00:00.000Z',
  '2026-02-30T10:00:00.000Z',
  '2026-02-28T24:00:00.000Z',
  '2026-02-28T10:00:00.000',
  '2026-02-28T10:00:00Z',
  '+002026-02-28T10:00:00.0',
  '2026-02-28 10:00:00.000Z',
  '2026-02-28T10:00:00.000+00:00',
]
const NEW_KEYS = [
  'JobId',
  'signature',
  'memberIds',
  'messageType',
  '__proto__',
  'initExecutionId',
  'stepExecutionId',
]

type Fields = Record<string, unknown>

function changed(body: Fields, dice: (limit: number) => number): Fields {
  const keys = Object.keys(body)
  const fields = Object.entries(body)
  const inner = body.correlationData
  if (dice(4) === 0 && typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
    return { ...body, correlationData: changed(inner as Fields, dice) }
  }
  const value = ODD[dice(ODD.length)]
  switch (dice(4)) {
    case 0:
      return Object.fromEntries(fields.toSpliced(dice(keys.length), 1))
    case 1:
      return Object.fromEntries([...fields, [NEW_KEYS[dice(NEW_KEYS.length)]!, value]])
    default:
      return { ...body, [keys[dice(keys.length)]!]: value }
  }
}

function* odd(good: Fields, seed: number): Iterable<Fields> {
  const dice = seeded(seed)
  for (let n = 0; n < 2_000; n += 1) {
    const once = changed(good, dice)
    yield once
    yield changed(once, dice)
  }
}

for (const { type, good, isOwn } of KINDS) {
  const sort =
    'signature' in good
      ? 'signed '
      : 'isPolled' in good
        ? 'polled '
        : 'togetherMax' in good
          ? 'joint '
          : 'traceparent' in good
            ? 'traced '
            : ''
  const what = `${sort}${type}`
  it(`recognises our own ${what}`, () => {
    assert.equal(isOwn(good), true)
    const { stepExecutionId, ...others } = correlationData
    const ofInit = { ...others, initExecutionId: stepExecutionId, isInitStep: true }
    assert.equal(isOwn({ ...good, correlationData: ofInit }), true)
  })

  it(`accepts no ${what} that the schema refuses`, () => {
    let own = 0
    for (const body of odd(good, 1)) {
      if (!isOwn(body)) continue
      own += 1
      const { success } = MESSAGE_FORMATS[type].write.safeParse(body)
      assert.ok(success, JSON.stringify(body))
    }
    assert.ok(own > 100, `only ${own} bodies were taken, which proves nothing`)
  })

  it(`reads every ${what} as the schema does`, () => {
    for (const body of odd(good, 2)) {
      const text = JSON.stringify(body)
      // An unknown field is ignored and disables the fast check.
      const slow = readMessage(type, JSON.stringify({ ...body, nobodyKnows: 1 }))
      assert.deepEqual(readMessage(type, text), slow, text)
    }
  })

  it(`refuses to write an invalid ${what} with a reason`, () => {
    for (const body of odd(good, 3)) {
      const { success } = MESSAGE_FORMATS[type].write.safeParse(body)
      assert.equal(writeMessage(type, body as never).ok, success, JSON.stringify(body))
    }
  })
}
