// Which contract file tests an endpoint. Each file runs alone and proves that every status and error of its own endpoints was seen;
// test/api/contract.test.ts proves that each endpoint has exactly one file.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ROUTES, SEEN } from '../under-test.ts'

/** Call it last in a contract file, with the names of its operations in full. */
export function covers(...operations: readonly string[]): void {
  it('every status and error that these endpoints declare was seen', () => {
    const unseen = ROUTES.filter(({ operation }) => operations.includes(operation)).flatMap(
      ({ operation, answers, errors, creates, comparesState }) => {
        const declared = [
          ...Object.keys(answers),
          ...errors,
          ...(creates ? ['KEY_REUSED'] : []),
          ...(comparesState ? ['STATE_CHANGED'] : []),
        ]
        const seen = SEEN.get(operation) ?? new Set()
        return declared.filter((one) => !seen.has(one)).map((one) => `${operation} ${one}`)
      },
    )
    assert.deepEqual(unseen, [])
  })
}
