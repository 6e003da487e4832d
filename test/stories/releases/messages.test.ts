// Processes of two releases talk to each other during a rolling upgrade. Messages of every earlier release are read in full, its signed jobs
// verify, and what a later release adds is ignored.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { JobKeys } from '../../../src/base/keys/job-keys.ts'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import {
  MESSAGE_TYPES,
  type MessageType,
  readMessage,
} from '../../../src/domain/messages/messages.ts'
import { listFixtures, listMessageFixtures } from './fixture.ts'

const HELP = 'before the release is out, write its fixture again: scripts/release-fixture.ts'

function read(type: string, text: string): JsonObject {
  const found = readMessage(type, text)
  assert.ok(found.ok, found.ok ? '' : `${type}: ${found.reason}`)
  return found.message as unknown as JsonObject
}

describe('messages of earlier releases', () => {
  it('are kept for each', () => {
    const kept = listMessageFixtures().map(({ release }) => release)
    assert.deepEqual(
      kept,
      listFixtures().map(({ release }) => release),
    )
    const newest = listMessageFixtures().at(-1)!
    assert.deepEqual(Object.keys(newest.messages), MESSAGE_TYPES, HELP)
  })

  for (const { release, messages, signedJob, jobKey } of listMessageFixtures()) {
    for (const [type, text] of Object.entries(messages))
      it(`${release}: a ${type} is read in full`, () => {
        const { messageType: _, ...fields } = JSON.parse(text) as JsonObject
        const { messageType, ...found } = read(type, text)
        assert.equal(messageType, type)
        assert.deepEqual(found, fields)
      })

    it(`${release}: a signed job verifies, and a changed one does not`, () => {
      const keys = new JobKeys([Buffer.from(jobKey, 'base64')])
      assert.equal(keys.faultIn(signedJob), null)
      assert.equal(keys.faultIn(signedJob.replace('step-7', 'step-8')), 'JobForged')
      assert.equal(read('worker-job', signedJob).jobId, 'step-7')
    })
  }
})

describe('messages of later releases', () => {
  const { messages, jobKey } = listMessageFixtures().at(-1)!
  const NEW = { addedLater: { deep: [1, null] }, isAdded: true, addedNote: null }
  /** The fields of a later release, in the message and in its inner objects. */
  const later = (text: string): string => {
    const body = JSON.parse(text) as Record<string, Json>
    for (const inner of ['correlationData', 'error'])
      if (body[inner]) body[inner] = { ...(body[inner] as JsonObject), ...NEW }
    return JSON.stringify({ ...NEW, ...body, ...NEW })
  }

  for (const type of Object.keys(messages) as MessageType[])
    it(`a ${type} with more fields means the same`, () =>
      assert.deepEqual(read(type, later(messages[type]!)), read(type, messages[type]!)))

  it('a signed job with more fields verifies', () => {
    const keys = new JobKeys([Buffer.from(jobKey, 'base64')])
    const signed = keys.sign(later(messages['worker-job']!))
    assert.equal(keys.faultIn(signed), null)
    const { signature: _, ...job } = read('worker-job', signed)
    assert.deepEqual(job, read('worker-job', messages['worker-job']!))
  })
})
