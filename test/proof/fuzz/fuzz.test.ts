// A minute part of `npm run fuzz` for every run of the tests, and proof that the runner notices what it is for. Requests have a test of
// their own (test/proof/fuzz/requests.test.ts).
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { seeded } from '../../kit/seeded.ts'
import { mutatedText, mutatedValue } from './mutate.ts'
import { TARGETS } from './targets.ts'

const INPUTS: readonly (readonly [target: string, inputs: number])[] = [
  ['yaml', 50],
  ['csv', 100],
  ['messages', 1],
]

describe('hostile input', () => {
  for (const [name, inputs] of INPUTS) {
    it(`is refused or read, never more: ${name}`, async () => {
      const target = await TARGETS[name]!()
      try {
        for (let input = 1; input <= inputs; input++)
          assert.deepEqual(await target.attempt(seeded(input)), [], `input ${input}`)
      } finally {
        await target.close()
      }
    })
  }

  it('is made again from its number, and differs from number to number', () => {
    const examples = ['a: 1\nb: [x, y]\n', 'c: "z"\n']
    const textOf = (input: number) => mutatedText(seeded(input), examples)
    const jsonOf = (input: number) =>
      JSON.stringify(mutatedValue(seeded(input), { a: [1, { b: 2 }] }))
    for (const make of [textOf, jsonOf]) {
      const made = Array.from({ length: 50 }, (_, input) => make(input))
      assert.deepEqual(
        made,
        made.map((_, input) => make(input)),
      )
      assert.ok(new Set(made).size > 20, `only ${new Set(made).size} different ones`)
    }
  })
})
