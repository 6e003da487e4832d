// What goes over the wire: jobs in the casing that a declared worker reads, and nothing else changed.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rowOf } from '../../../src/bus/outbox.ts'
import { outgoingOf } from '../../../src/bus/servicebus/wire.ts'

const NOW = new Date('2030-01-01T00:00:00Z')
const job = (workerId: string) =>
  rowOf(
    {
      topic: 'worker-jobs',
      type: 'worker-job',
      workerId,
      messageId: 'step-1',
      body: {
        jobId: 'step-1',
        batchId: 42,
        workerId,
        functionName: 'New-EntraUser',
        parameters: { displayName: 'John Doe', nested: { keyOf: 1 } },
        timeoutSec: 60,
        notAfter: '2030-01-01T06:00:00Z',
        correlationData: {
          stepExecutionId: 1,
          isInitStep: false,
          runbookName: 'wave',
          runbookVersion: 1,
        },
      },
    },
    NOW,
  )
const sent = (workerId: string) => {
  const { body } = outgoingOf(job(workerId), NOW, new Set(['worker-01']))
  return JSON.parse(String(body))
}

describe('a job on the wire', () => {
  it('is in PascalCase for a worker that is declared so, parameters apart', () => {
    assert.deepEqual(sent('worker-01'), {
      JobId: 'step-1',
      BatchId: 42,
      WorkerId: 'worker-01',
      FunctionName: 'New-EntraUser',
      Parameters: { displayName: 'John Doe', nested: { keyOf: 1 } },
      TimeoutSec: 60,
      NotAfter: '2030-01-01T06:00:00Z',
      CorrelationData: {
        StepExecutionId: 1,
        IsInitStep: false,
        RunbookName: 'wave',
        RunbookVersion: 1,
      },
    })
  })
  it('is in camelCase for any other', () => {
    assert.equal(sent('worker-02').correlationData.stepExecutionId, 1)
    assert.equal(String(outgoingOf(job('worker-01'), NOW).body), job('worker-01').body)
  })
})
