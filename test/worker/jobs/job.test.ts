import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReceivedMessage } from '../../../src/bus/bus.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { catalogueOf } from '../../../src/worker/functions/catalogue.ts'
import { readJob, whyTooLate } from '../../../src/worker/jobs/job.ts'
import type { JobResult } from '../../../src/worker/jobs/result-cache.ts'
import { ResultCache } from '../../../src/worker/jobs/result-cache.ts'

function received(body: unknown, type: string | null = 'worker-job'): ReceivedMessage {
  return {
    topic: 'worker-jobs',
    messageId: 'step-1',
    type,
    properties: {},
    body: typeof body === 'string' ? body : JSON.stringify(body),
    deliveryCount: 1,
    enqueuedAt: new Date(0),
    lease: { sequence: '1', token: 't' },
  }
}

const JOB = {
  jobId: 'step-1',
  batchId: 7,
  workerId: 'w1',
  functionName: 'Get-Echo',
  parameters: { A: 1 },
  notAfter: '2026-03-01T10:00:00Z',
  correlationData: { stepExecutionId: 1, Theirs: { kept: ['as', 'it', 'is'] } },
}

describe('reading a job', () => {
  it('keeps the correlation data unchanged, unknown fields included', () => {
    const job = readJob(received(JOB), 'w1')
    assert.ok(!('reason' in job))
    assert.deepEqual(job.correlation, JOB.correlationData)
    assert.deepEqual([job.functionName, job.parameters], ['Get-Echo', { A: 1 }])
    assert.equal(job.notAfter?.toISOString(), '2026-03-01T10:00:00.000Z')
  })

  it('reads keys in any case, a message without a type, and a job without deadline or correlation', () => {
    const { jobId, batchId, functionName, parameters } = JOB
    const body = { JobId: jobId, BatchId: batchId, WorkerId: 'W1' }
    const job = readJob(
      received({ ...body, FunctionName: functionName, Parameters: parameters }, null),
      'w1',
    )
    assert.ok(!('reason' in job))
    assert.deepEqual([job.jobId, job.notAfter, job.correlation], ['step-1', null, null])
    assert.equal(whyTooLate(job, new Date('2999-01-01')), null)
  })

  const REFUSED: [what: string, message: ReceivedMessage, reason: string, says: RegExp][] = [
    ['a body that is not JSON', received('{'), 'Unreadable', /not JSON/],
    [
      'a job without a function',
      received({ ...JOB, functionName: '' }),
      'Unreadable',
      /functionName/,
    ],
    ['another type of message', received({ batchId: 1 }, 'batch-init'), 'WrongTopic', /batch-init/],
    [
      'a job of another worker',
      received({ ...JOB, workerId: 'w2' }),
      'WrongWorker',
      /Worker w1 received a job for worker w2/,
    ],
  ]
  for (const [what, message, reason, says] of REFUSED) {
    it(`refuses ${what}`, () => {
      const job = readJob(message, 'w1')
      assert.ok('reason' in job)
      assert.equal(job.reason, reason)
      assert.match(job.description, says)
    })
  }

  it('expires exactly at the deadline', () => {
    const job = readJob(received(JOB), 'w1')
    assert.ok(!('reason' in job))
    assert.equal(whyTooLate(job, new Date('2026-03-01T09:59:59.999Z')), null)
    assert.match(
      whyTooLate(job, new Date('2026-03-01T10:00:00Z'))!,
      /^it waited until .*, its limit, and was not started$/,
    )
  })
})

describe('the result cache', () => {
  const answer = (jobId: string, result = '') => ({ jobId, result }) as JobResult

  it('drops the oldest results when it is full by count or by size', () => {
    const few = new ResultCache({ max: 2 })
    for (const jobId of ['a', 'b', 'b', 'c']) few.keep(jobId, answer(jobId))
    assert.deepEqual(
      ['a', 'b', 'c'].map((jobId) => few.get(jobId)?.jobId),
      [undefined, 'b', 'c'],
    )
    const small = new ResultCache({ charsMax: 100 })
    small.keep('a', answer('a', 'x'.repeat(60)))
    small.keep('b', answer('b', 'x'.repeat(60)))
    assert.deepEqual([small.get('a'), small.get('b')?.jobId], [null, 'b'])
  })
})

describe('the catalogue', () => {
  it('refuses two functions with the same name', () => {
    const [one] = STANDARD_FUNCTIONS
    assert.throws(() => catalogueOf([one!, one!]), /same name/)
  })
})
