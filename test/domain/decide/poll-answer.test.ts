// What a poll said and whether it is news.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { isUnchanged, POLL_CHANGES_MAX, saidIn } from '../../../src/domain/decide/poll-answer.ts'
import type { Step } from '../../../src/domain/state/facts.ts'

describe('what a poll said', () => {
  const CASES: readonly [payload: Json | undefined, reason: string | null, said: string | null][] =
    [
      [{ Status: 'Syncing', BatchId: null }, null, 'Status: Syncing'],
      [{ Status: 'Syncing', Pending: ['a', 'b'] }, null, 'Status: Syncing, Pending: ["a","b"]'],
      [{ Match: false, Reason: 'No user.' }, 'No user', 'No user'],
      [{ complete: false }, null, null],
      ['half way', null, 'half way'],
      [undefined, null, null],
      [null, null, null],
    ]
  for (const [payload, reason, said] of CASES)
    it(`${JSON.stringify(payload)} is ${said}`, () => assert.equal(saidIn(payload, reason), said))

  it('is cut', () => {
    const said = saidIn({ Text: 'x'.repeat(1_000) }, null)
    assert.deepEqual([said?.length, said?.at(-1)], [500, '…'])
  })
})

describe('an unchanged poll', () => {
  const isFolded = (pollSaid: string | null, pollChanges: number, said: string | null): boolean =>
    isUnchanged({ pollSaid, pollChanges } as Step, said)

  it('is never the first of an attempt', () => assert.equal(isFolded(null, 0, null), false))
  it('says the same', () => assert.equal(isFolded('Syncing', 1, 'Syncing'), true))
  it('differs in numbers only', () =>
    assert.equal(isFolded('9 of 100 items at 10:05', 1, '12 of 100 items at 10:20'), true))
  it('says nothing again', () => assert.equal(isFolded(null, 1, null), true))
  it('does not say something else', () => assert.equal(isFolded('Syncing', 1, 'Synced'), false))
  it('does not begin or stop to say something', () =>
    assert.deepEqual([isFolded(null, 1, 'Synced'), isFolded('Synced', 1, null)], [false, false]))
  it('is every one after so many changes', () =>
    assert.deepEqual(
      [isFolded('a', POLL_CHANGES_MAX - 1, 'b'), isFolded('a', POLL_CHANGES_MAX, 'b')],
      [false, true],
    ))
})
