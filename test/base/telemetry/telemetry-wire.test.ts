// Trace context on the wire: signed jobs still verify, Service Bus has it as properties, and what does not fit is ignored.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { JobKeys } from '../../../src/base/keys/job-keys.ts'
import { readTraceparent, traceparentOf } from '../../../src/base/telemetry/telemetry.ts'
import type { OutgoingMessage } from '../../../src/bus/bus.ts'
import { rowOf } from '../../../src/bus/outbox.ts'
import { outgoingOf } from '../../../src/bus/servicebus/wire.ts'
import { readMessage } from '../../../src/domain/messages/messages.ts'
import { job } from '../../bus/under-test.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const TRACED = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const traced = (): OutgoingMessage => {
  const sent = job('w1')
  return { ...sent, body: { traceparent: TRACED, ...sent.body } } as OutgoingMessage
}

describe('trace context on the wire', () => {
  it('is signed with the job and a property of the message on Service Bus', () => {
    const keys = new JobKeys([randomBytes(32)])
    const row = rowOf(traced(), NOW, keys)
    assert.equal(keys.faultIn(row.body), null)
    assert.equal(keys.faultIn(row.body.replace('-01"', '-00"')), 'JobForged')
    const { applicationProperties } = outgoingOf(row, NOW)
    assert.deepEqual(applicationProperties, {
      MessageType: 'worker-job',
      WorkerId: 'w1',
      traceparent: TRACED,
      'Diagnostic-Id': TRACED,
    })
    const read = readMessage('worker-job', row.body)
    assert.ok(read.ok && read.message.traceparent === TRACED)
  })

  it('is absent while telemetry is off', () => {
    const row = rowOf(job('w1'), NOW)
    assert.doesNotMatch(row.body, /traceparent/)
    assert.deepEqual(Object.keys(outgoingOf(row, NOW).applicationProperties!), [
      'MessageType',
      'WorkerId',
    ])
  })

  it('is ignored where it does not fit: a result counts all the same', () => {
    for (const traceparent of ['', 'x', 7, null, { a: 1 }, TRACED.toUpperCase()]) {
      const body = JSON.stringify({ jobId: 'step-1', status: 'Success', traceparent })
      const read = readMessage('worker-result', body)
      assert.ok(read.ok, body)
      assert.equal(read.message.traceparent ?? null, null)
    }
    const zero = `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`
    assert.deepEqual([readTraceparent(zero), readTraceparent(null)], [null, null])
    assert.equal(traceparentOf(readTraceparent(TRACED)!), TRACED)
  })
})
