// The bug bank stays usable: every mistake still has its one place in the program. That the sweep finds them is run by hand.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { mutate } from './mutant-loader.ts'
import { MUTANTS } from './mutants.ts'

it('knows at least 15 mistakes, each under a name of its own', () => {
  const names = new Set(MUTANTS.map(({ name }) => name))
  assert.equal(names.size, MUTANTS.length)
  assert.ok(MUTANTS.length >= 15, `only ${MUTANTS.length}`)
})

for (const mutant of MUTANTS) {
  it(`can still be made: ${mutant.name}`, () => {
    const text = readFileSync(new URL(`../../${mutant.file}`, import.meta.url), 'utf8')
    assert.notEqual(mutate(text, mutant), text)
  })
}
