// The bug bank does not rot: every mistake still has its one place in the program, and the seeded world still finds it. Each is
// looked for with the seed that is known to find it; when the world has changed its course since, with the others from 1 on.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { workOff } from './crew.ts'
import { mutate } from './mutant-loader.ts'
import { MUTANTS } from './mutants.ts'
import { fileOf } from './place.ts'

const OTHER_SEEDS = 150
const THREADS = 2

it('knows at least 15 mistakes, each under a name of its own', () => {
  const names = new Set(MUTANTS.map(({ name }) => name))
  assert.equal(names.size, MUTANTS.length)
  assert.ok(MUTANTS.length >= 15, `only ${MUTANTS.length}`)
})

for (const mutant of MUTANTS) {
  it(`can still be made: ${mutant.name}`, () => {
    const text = readFileSync(new URL(`../../${fileOf(mutant)}`, import.meta.url), 'utf8')
    assert.notEqual(mutate(text, mutant), text)
  })
}

it('finds every one of them that has a known seed', async () => {
  const others = Array.from({ length: OTHER_SEEDS }, (_, index) => index + 1)
  const missed: string[] = []
  await workOff({
    tasks: MUTANTS.flatMap(({ name, foundBy }) =>
      foundBy === null ? [] : [{ kind: 'hunt', mutant: name, seeds: [foundBy, ...others] }],
    ),
    threads: THREADS,
    onResult: (result) => {
      if ('verdict' in result && result.verdict.seed === null) missed.push(result.verdict.mutant)
      return undefined
    },
  })
  assert.deepEqual(missed, [])
})
