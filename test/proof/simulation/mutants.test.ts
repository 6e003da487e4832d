// The simulation still finds every mistake of the bug bank. Each is tried with the seed that found it last; if that one no longer does,
// with the seeds from 1 on. Changed code can move a mistake: test/house/bug-bank.test.ts says so at every commit.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { mutate } from './mutant-loader.ts'
import { MUTANTS } from './mutants.ts'
import { fileOf } from './place.ts'
import { runTasks } from './thread-pool.ts'

const ROOT = join(import.meta.dirname, '../../..')
const OTHER_SEEDS = 150
const THREADS = 2

/** In two parts: a rule of the house looks for it. */
const UNCHECKED = `// @ts-${'nocheck'}`

/** The program itself is checked elsewhere: here its types are only looked up, which takes a third of the time. */
function copyUnchecked(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  for (const file of globSync('**/*.ts', { cwd: from }))
    writeFileSync(join(to, file), `${UNCHECKED}\n${readFileSync(join(from, file), 'utf8')}`)
}

it('has the right types: a mistake that cannot run would be found by its crash', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-mutants-'))
  try {
    for (const part of ['src', 'sandbox']) copyUnchecked(join(ROOT, part), join(folder, part))
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(folder, 'node_modules'), 'junction')
    // A mistake may leave a name unused.
    const unused = { noUnusedLocals: false, noUnusedParameters: false }
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions: unused }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, include: ['src'] }))
    for (const [index, mutant] of MUTANTS.entries()) {
      const file = fileOf(mutant)
      const text = mutate(readFileSync(join(ROOT, file), 'utf8'), mutant)
      writeFileSync(join(folder, file.replace(/\.ts$/, `.${index}.ts`)), text)
    }
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout, status } = spawnSync(
      process.execPath,
      [compiler, '-p', folder, '--checkers', '1'],
      {
        encoding: 'utf8',
      },
    )
    const named = stdout.replaceAll(/\S+\.(\d+)\.ts/g, (_, index) => MUTANTS[index]!.name)
    assert.deepEqual([status, named], [0, ''])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('finds the mistakes that have a known seed', async (test) => {
  const others = Array.from({ length: OTHER_SEEDS }, (_, index) => index + 1)
  const missed: string[] = []
  await runTasks({
    tasks: MUTANTS.flatMap(({ name, foundBy }) =>
      foundBy === null ? [] : [{ kind: 'hunt', mutant: name, seeds: [foundBy, ...others] }],
    ),
    threads: THREADS,
    onResult: (result) => {
      if (!('verdict' in result)) return
      const { mutant, seed } = result.verdict
      if (seed === null) missed.push(mutant)
      // Seeds that no longer find theirs once took nine tenths of this test's time.
      const known = MUTANTS.find(({ name }) => name === mutant)?.foundBy
      if (seed !== known) test.diagnostic(`${mutant}: set foundBy to ${seed}, it is ${known}`)
    },
  })
  assert.deepEqual(missed, [])
})
