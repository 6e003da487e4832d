// Every mistake of the bug bank still has its one place in the program, and the simulation still finds it. Each is tried with the
// seed that found it last; if that one no longer does, with the seeds from 1 on.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { mutate } from './mutant-loader.ts'
import { MUTANTS } from './mutants.ts'
import { fileOf } from './place.ts'
import { runTasks } from './thread-pool.ts'

const OTHER_SEEDS = 150
const THREADS = 2

it('knows at least 15 mistakes with different names', () => {
  const names = new Set(MUTANTS.map(({ name }) => name))
  assert.equal(names.size, MUTANTS.length)
  assert.ok(MUTANTS.length >= 15, `only ${MUTANTS.length}`)
})

for (const mutant of MUTANTS) {
  it(`has its place: ${mutant.name}`, () => {
    const text = readFileSync(new URL(`../../${fileOf(mutant)}`, import.meta.url), 'utf8')
    assert.notEqual(mutate(text, mutant), text)
  })
}

it('finds every mistake that has a known seed', async () => {
  const others = Array.from({ length: OTHER_SEEDS }, (_, index) => index + 1)
  const missed: string[] = []
  await runTasks({
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
