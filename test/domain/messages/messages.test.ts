import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import {
  type Body,
  epochOf,
  type JobName,
  jobIdOf,
  MESSAGE_TYPES,
  type Message,
  messageIdOf,
  newEpoch,
  parseJobId,
  readMessage,
  writeMessage,
} from '../../../src/domain/messages/messages.ts'
import { seeded } from '../../kit/seeded.ts'
import { BODIES } from './message-bodies.ts'

const FIXTURES = new URL('../../fixtures/messages/', import.meta.url)
const fixture = (name: string) => readFileSync(new URL(`${name}.json`, FIXTURES), 'utf8')

/** `worker-result-failed.pascal.json` is a worker-result. */
const typeOf = (file: string) => MESSAGE_TYPES.find((type) => file.startsWith(type))!

function read(type: string | null, text: string): Message {
  const result = readMessage(type, text)
  assert.ok(result.ok, result.ok ? '' : result.reason)
  return result.message
}

function reasonFor(type: string | null, text: string): string {
  const result = readMessage(type, text)
  assert.ok(!result.ok, 'should not be understood')
  return result.reason
}

const THROTTLE = {
  name: 'Exchange Online',
  closedUntil: '2026-03-01T10:00:05.000Z',
  concurrency: 4,
  calls: 1,
  queued: 2,
  throttled: 3,
  throttledSec: 5,
}

describe('messages: reading what others write', () => {
  const files = readdirSync(FIXTURES).map((file) => file.replace('.json', ''))

  for (const file of files) {
    it(`reads ${file}`, () => {
      assert.equal(read(typeOf(file), fixture(file)).messageType, typeOf(file))
    })
  }

  for (const file of files.filter((name) => name.endsWith('.pascal'))) {
    it(`reads ${file} as it reads its camelCase twin`, () => {
      const twin = read(typeOf(file), fixture(file.replace('.pascal', '.camel')))
      assert.deepEqual(read(typeOf(file), fixture(file)), twin)
    })
  }

  it('reads a hello with or without throttles, and garbled ones as none', () => {
    const hello = (throttles: unknown) => {
      const text = JSON.stringify({ ...BODIES['worker-hello'], throttles })
      return (read('worker-hello', text) as Message<'worker-hello'>).throttles
    }
    assert.deepEqual(hello([THROTTLE]), [THROTTLE])
    assert.equal(hello(undefined), undefined)
    for (const garbled of ['busy', [{ name: 'x' }], [{ ...THROTTLE, closedUntil: 'soon' }]])
      assert.equal(hello(garbled), null)
  })

  it('reads the failed result of an init step completely', () => {
    assert.deepEqual(read('worker-result', fixture('worker-result-failed.pascal')), {
      messageType: 'worker-result',
      jobId: 'init-9',
      batchId: 42,
      workerId: 'worker-01',
      functionName: 'New-EntraUser',
      status: 'Failure',
      resultType: 'Object',
      result: null,
      error: {
        message: 'User not found',
        type: 'Microsoft.Graph.ServiceException',
        isThrottled: false,
        attempts: 1,
      },
      durationMs: 88.5,
      timestamp: '2025-03-15T10:30:00.1234567Z',
      correlationData: {
        stepExecutionId: null,
        initExecutionId: 9,
        isInitStep: true,
        runbookName: 'contoso-mailbox-migration',
        runbookVersion: 1,
      },
    })
  })
})

describe('messages: reading tolerantly', () => {
  const text = (extra: object) => JSON.stringify({ jobId: 'step-7', status: 'Success', ...extra })

  it('never touches what is inside parameters and result', () => {
    const inside = JSON.parse(
      '{"JobId":1,"Status":{"ERROR":[{"Message":null}]},"__proto__":{"a":1}}',
    )
    const job = { ...BODIES['worker-job'], Parameters: inside, parameters: undefined }
    const message = read('worker-job', JSON.stringify(job)) as Message<'worker-job'>
    assert.deepEqual(JSON.stringify(message.parameters), JSON.stringify(inside))
    const result = read('worker-result', text({ Result: inside })) as Message<'worker-result'>
    assert.deepEqual(JSON.stringify(result.result), JSON.stringify(inside))
  })

  it('accepts any JSON as a result, and null for none', () => {
    for (const result of [{}, [], [1, 'a'], 'text', '', 0, 1.5, true, false, null] as Json[]) {
      const message = read('worker-result', text({ result })) as Message<'worker-result'>
      assert.deepEqual(message.result, result)
    }
    assert.equal((read('worker-result', text({})) as Message<'worker-result'>).result, null)
  })

  it('accepts keys in any case, in the two inner objects too', () => {
    const message = read(
      'worker-result',
      '{"jobid":"step-7","STATUS":"success","correlationDATA":{"STEPexecutionid":7},"eRRor":{"MESSAGE":"m"}}',
    )
    assert.deepEqual(message, {
      messageType: 'worker-result',
      jobId: 'step-7',
      status: 'Success',
      result: null,
      correlationData: { stepExecutionId: 7 },
      error: { message: 'm' },
    })
  })

  it('accepts statuses in any case', () => {
    for (const [given, status] of [
      ['success', 'Success'],
      ['SUCCESS', 'Success'],
      ['failure', 'Failure'],
      ['FaiLure', 'Failure'],
    ]) {
      const message = read('worker-result', text({ status: given })) as Message<'worker-result'>
      assert.equal(message.status, status)
    }
  })

  it('accepts an error that is plain text', () => {
    const message = read(
      'worker-result',
      text({ error: 'no such user' }),
    ) as Message<'worker-result'>
    assert.deepEqual(message.error, { message: 'no such user' })
  })

  it('prefers our spelling of a key', () => {
    for (const body of [
      '{"jobId":"step-1","JobId":"step-2","status":"Success"}',
      '{"JobId":"step-2","JOBID":"step-3","jobId":"step-1","status":"Success"}',
    ]) {
      assert.equal((read('worker-result', body) as Message<'worker-result'>).jobId, 'step-1')
    }
  })

  it('accepts a result with garbled correlation data', () => {
    for (const correlationData of ['x', 7, [], { stepExecutionId: -1 }]) {
      const read = readMessage(
        'worker-result',
        JSON.stringify({ jobId: 'step-7', status: 'Success', correlationData }),
      )
      assert.equal(read.ok, true, JSON.stringify(correlationData))
    }
  })

  it('ignores unknown fields', () => {
    const message = read('worker-result', text({ version: 99, toString: 1, __proto__: null }))
    assert.deepEqual(message, {
      messageType: 'worker-result',
      jobId: 'step-7',
      status: 'Success',
      result: null,
    })
  })

  it('reads the type from the body when the message has none', () => {
    assert.equal(read(null, fixture('phase-due.camel')).messageType, 'phase-due')
    assert.equal(read(null, fixture('phase-due.pascal')).messageType, 'phase-due')
  })
})

describe('messages: an invalid body yields a reason', () => {
  const good = fixture('worker-result.camel')
  const changed = (change: object) => JSON.stringify({ ...JSON.parse(good), ...change })
  const cases: [name: string, type: string | null, text: string, reason: RegExp][] = [
    ['truncated JSON', 'worker-result', good.slice(0, -20), /is not JSON/],
    ['nothing', 'worker-result', '', /The body \(0 characters\) is not JSON/],
    ['null', 'worker-result', 'null', /The body is null, not an object/],
    ['a list', 'worker-result', '[]', /The body is a list, not an object/],
    ['a number', 'worker-result', '7', /The body is a number, not an object/],
    ['text', 'worker-result', '"text"', /The body is a string, not an object/],
    ['deep nesting', 'worker-result', '['.repeat(100_000), /is not JSON/],
    ['an unknown type', 'batch-exploded', '{}', /type is "batch-exploded"; known: batch-init,/],
    ['no type anywhere', null, '{}', /type is missing/],
    ['a type like a method', 'toString', '{}', /type is "toString"/],
    ['another type in the body', 'batch-init', fixture('phase-due.camel'), /names another type/],
    ['a missing job id', 'worker-result', '{"status":"Success"}', /jobId: .*undefined/],
    ['a numeric job id', 'worker-result', changed({ jobId: 7 }), /jobId: .*expected string/],
    [
      'an unknown status',
      'worker-result',
      changed({ status: 'Maybe' }),
      /status: expected Success or/,
    ],
    ['status null', 'worker-result', changed({ status: null }), /status: .*null/],
    ['an id of 2^53+1', 'batch-init', '{"batchId":9007199254740993}', /batchId:/],
    ['a negative id', 'batch-init', '{"batchId":-1}', /batchId:/],
    ['id zero', 'batch-init', '{"batchId":0}', /batchId:/],
    ['half an id', 'batch-init', '{"batchId":1.5}', /batchId:/],
    ['an id as text', 'batch-init', '{"batchId":"42"}', /batchId:/],
    [
      'parameters as a list',
      'worker-job',
      JSON.stringify({ ...BODIES['worker-job'], parameters: [] }),
      /parameters: expected an object/,
    ],
    [
      'a deadline without zone',
      'worker-job',
      JSON.stringify({ ...BODIES['worker-job'], notAfter: '2026-03-01T10:00:00' }),
      /notAfter:/,
    ],
    [
      'a worker without a name',
      'worker-hello',
      JSON.stringify({ ...BODIES['worker-hello'], workerId: ' ' }),
      /workerId:/,
    ],
    [
      'more slots than the database can store',
      'worker-hello',
      JSON.stringify({ ...BODIES['worker-hello'], slots: 2 ** 31 }),
      /slots: Too big/,
    ],
    [
      'functions as a map',
      'worker-hello',
      JSON.stringify({ ...BODIES['worker-hello'], functions: {} }),
      /functions:/,
    ],
  ]
  for (const [name, type, text, reason] of cases) {
    it(name, () => assert.match(reasonFor(type, text), reason))
  }

  it('never quotes the body', () => {
    const canary = 'canary@contoso.example'
    for (const text of [
      `{"jobId": ${canary}`,
      JSON.stringify({ jobId: [canary], status: canary, error: { message: [canary] } }),
      JSON.stringify({ [canary]: canary }),
    ]) {
      assert.ok(!reasonFor('worker-result', text).includes(canary))
    }
  })

  it('never throws on truncated or swapped input', () => {
    for (const file of readdirSync(FIXTURES)) {
      const text = fixture(file.replace('.json', ''))
      for (let end = 0; end < text.length; end += 7) {
        readMessage(typeOf(file), text.slice(0, end))
        readMessage(typeOf(file), `${text.slice(0, end)}null${text.slice(end + 1)}`)
      }
    }
  })
})

describe('messages: writing strictly', () => {
  for (const type of MESSAGE_TYPES) {
    it(`writes a ${type} that reads back unchanged`, () => {
      const written = writeMessage(type, BODIES[type])
      assert.ok(written.ok, written.ok ? '' : written.reason)
      const { messageType, ...fields } = read(type, written.text)
      assert.equal(messageType, type)
      assert.deepEqual(fields, BODIES[type])
    })

    it(`refuses a ${type} with an extra or missing field`, () => {
      const tooMany: Body = Object.assign({}, BODIES[type], { memberIds: [1] })
      assert.match(JSON.stringify(writeMessage(type, tooMany)), /"ok":false.*memberIds/)
      for (const key of Object.keys(BODIES[type])) {
        const tooFew = { ...BODIES[type], [key]: undefined } as Body
        assert.equal(writeMessage(type, tooFew).ok, false, key)
      }
    })
  }

  it('names the type in the bodies of events, not in jobs and results', () => {
    const named = MESSAGE_TYPES.filter((type) => {
      const written = writeMessage(type, BODIES[type])
      return written.ok && JSON.parse(written.text).messageType === type
    })
    const others = MESSAGE_TYPES.filter((type) => !named.includes(type))
    assert.deepEqual(others, ['worker-job', 'worker-result'])
  })

  it('refuses a body that names another type', () => {
    const body = { ...BODIES['batch-init'], messageType: 'phase-due' } as Body<'batch-init'>
    assert.equal(writeMessage('batch-init', body).ok, false)
  })
})

describe('job ids', () => {
  const cases: [JobName, string][] = [
    [{ kind: 'phase', stepId: 7, attempt: 0, poll: 0, epoch: '' }, 'step-7'],
    [{ kind: 'phase', stepId: 7, attempt: 2, poll: 0, epoch: '' }, 'step-7-retry-2'],
    [{ kind: 'phase', stepId: 7, attempt: 0, poll: 3, epoch: '' }, 'step-7-poll-3'],
    [{ kind: 'phase', stepId: 7, attempt: 2, poll: 3, epoch: '' }, 'step-7-retry-2-poll-3'],
    [{ kind: 'init', stepId: 1, attempt: 1, poll: 0, epoch: '' }, 'init-1-retry-1'],
    [{ kind: 'rollback', stepId: 12, attempt: 0, poll: 0, epoch: '' }, 'rollback-12'],
    [
      { kind: 'removal', stepId: 2 ** 53 - 1, attempt: 0, poll: 0, epoch: '' },
      'removal-9007199254740991',
    ],
    [{ kind: 'phase', stepId: 7, attempt: 0, poll: 0, epoch: 'k3f2qz' }, 'step-7~k3f2qz'],
    [
      { kind: 'phase', stepId: 7, attempt: 2, poll: 3, epoch: 'aaaaaa' },
      'step-7-retry-2-poll-3~aaaaaa',
    ],
  ]
  for (const [name, id] of cases) {
    it(id, () => {
      assert.equal(jobIdOf(name), id)
      assert.deepEqual(parseJobId(id), name)
      assert.equal(epochOf(id), name.epoch)
    })
  }

  it('has one spelling', () => {
    for (const id of [
      '',
      'step',
      'step-',
      'step-0',
      'step-07',
      'step-7-retry-0',
      'step-7-poll-3-retry-2',
      'step-123-attempt-1',
      'Step-7',
      'step-7 ',
      'step-7-replay-1',
      'removed-5-0',
      'step-9007199254740992',
      'result-step-7',
      'step-7~',
      'step-7~k3f2q',
      'step-7~K3F2QZ',
      'step-7~k3f9qz',
      'step-7~k3f2qz~aaaaaa',
      'step-7~k3f2qz-retry-1',
    ]) {
      assert.equal(parseJobId(id), null, id)
    }
  })

  it('tells the epochs of an id apart, also when it is none of ours', () => {
    assert.equal(epochOf('result-step-7~k3f2qz'), 'k3f2qz')
    assert.equal(epochOf('somebody else'), '')
    assert.equal(epochOf('job~1'), '1')
  })

  it('makes an epoch that differs and fits an id', () => {
    const random = seeded(16)
    const epochs = Array.from({ length: 100 }, () => newEpoch(() => random(1_000) / 1_000))
    assert.equal(new Set(epochs).size, epochs.length)
    const name = { kind: 'init', stepId: 1, attempt: 0, poll: 0 } as const
    for (const epoch of epochs) assert.equal(parseJobId(jobIdOf({ ...name, epoch }))?.epoch, epoch)
    assert.equal(
      newEpoch(() => 0),
      'aaaaaa',
    )
    assert.equal(
      newEpoch(() => 1 - Number.EPSILON),
      '777777',
    )
  })

  it('builds message ids that the bus accepts', () => {
    const ids = [
      messageIdOf.batchInit(1, ''),
      messageIdOf.batchInit(1, 'k3f2qz'),
      messageIdOf.memberAdded(1, ''),
      messageIdOf.memberAdded(1, 'k3f2qz'),
      messageIdOf.workerResult('step-7'),
      messageIdOf.workerResult('step-7~k3f2qz'),
      messageIdOf.recalledResult('step-7', 'k3f2qz'),
      messageIdOf.workerRecall('w'.repeat(63), 'k3f2qz'),
      messageIdOf.workerHello('w'.repeat(63), new Date('2026-03-01T10:00:00Z')),
    ]
    assert.equal(new Set(ids).size, ids.length)
    for (const id of ids) assert.match(id, /^[\x21-\x7e]{1,128}$/)
  })
})
