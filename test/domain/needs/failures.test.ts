import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { errorPattern, FailureGroups } from '../../../src/domain/needs/failures.ts'

describe('failures made alike', () => {
  const CASES: readonly (readonly [message: string, pattern: string])[] = [
    ['User ada@contoso.example was not found', 'User <address> was not found'],
    ['GUID 6f1d3a52-8d6e-4f0a-9b1e-0123456789ab is unknown', 'GUID <id> is unknown'],
    ['at 2026-03-02T08:00:00.123Z, try after 2026-03-02', 'at <time>, try after <time>'],
    ['since 2026-03-02 08:00:00 UTC', 'since <time> UTC'],
    ['429 from https://graph.example/v1.0/users/7?x=1', '<number> from <url>'],
    ['10.1.2.3 refused, 1,234.5 items', '<ip> refused, <number> items'],
    ['correlation 4f9a0c11de22bb33 failed', 'correlation <id> failed'],
    ['mailbox  is\n locked', 'mailbox is locked'],
    ['deadbeefcafe feedface', 'deadbeefcafe feedface'],
  ]
  for (const [message, pattern] of CASES)
    it(`"${message.replaceAll('\n', ' ')}"`, () => assert.equal(errorPattern(message), pattern))

  it('takes time linear in the message, and looks at its beginning only', () => {
    assert.ok(errorPattern(`${'a.'.repeat(200_000)}@`).length <= 400)
  })
})

it('groups have a count, first and last seen and the newest sample', () => {
  const groups = new FailureGroups()
  const failure = (stepId: number, message: string, at: number) => ({
    stepId,
    memberId: stepId,
    kind: 'phase' as const,
    phaseName: 'cutover',
    stepName: 'switch',
    message,
    at: new Date(at),
  })
  groups.add(failure(1, 'user 1 is locked', 2_000))
  groups.add(failure(2, 'user 2 is locked', 3_000))
  groups.add(failure(3, 'user 3 is locked', 1_000))
  groups.add(failure(4, 'other', 1_000))
  const [first, second] = groups.largest(10)
  assert.deepEqual([groups.count, groups.size], [4, 2])
  assert.deepEqual(
    [first!.count, +first!.firstSeenAt, +first!.lastSeenAt, first!.sample.stepId],
    [3, 1_000, 3_000, 2],
  )
  assert.equal(second!.pattern, 'other')
})
