// The two suites together are every test, the fast one stays fast, and files that share a process leave nothing behind for each other.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  isIn,
  isQuick,
  planProcesses,
  readStoredTimes,
  SUITES,
  slowest,
} from '../../scripts/test-plan.ts'

const code = globSync('test/**/*.ts')
  .map((path) => path.replaceAll('\\', '/'))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
const files = code.filter(({ path }) => path.endsWith('.test.ts'))
const helpers = code.filter(({ path }) => !path.endsWith('.test.ts'))
const file = (path: string, text = '') => ({ path, text })
const pathsOf = (some: readonly { readonly path: string }[]) => some.map(({ path }) => path)

describe('the two suites', () => {
  it('are every test file together', () => {
    const run = SUITES.flatMap((suite) => pathsOf(files.filter((one) => isIn(suite, one))))
    assert.deepEqual([...new Set(run)].toSorted(), pathsOf(files).toSorted())
  })

  it('share those files only that proof runs in more variants', () => {
    const inBoth = files.filter((one) => SUITES.every((suite) => isIn(suite, one)))
    assert.ok(inBoth.length > 0)
    for (const { path, text } of inBoth)
      assert.match(text, /\b(?:variants\(|EVERY_VARIANT\b)/, path)
  })

  it('lose no variant: only test files choose, never their helpers', () => {
    const choosing = helpers.filter(({ text }) => /\/variants\.ts'/.test(text))
    assert.deepEqual(pathsOf(choosing), [])
  })
})

describe('the budget', () => {
  const { test } = readStoredTimes()

  /** Five minutes on two cores are 600 s; on 2026-11-19 the suite took 362 s of them, in 228 s. */
  const SUITE_CPU_SEC = 450
  /** A longer file is alone in its process, and the others wait for it. The longest took 9.5 s. */
  const FILE_CPU_SEC = 15
  /** More files without a stored time, and the sum above says nothing. */
  const FILES_WITHOUT_TIME = 60

  it('of the fast suite is kept, as the stored run shows', () => {
    assert.ok(test, 'store the times with: npm test -- --times')
    assert.ok(test.cpuSec <= SUITE_CPU_SEC, `${test.cpuSec} s, at most ${SUITE_CPU_SEC}`)
  })

  it('is not spent by a single file', () => {
    const dear = Object.entries(test?.files ?? {}).filter(
      ([path, sec]) => path.endsWith('.test.ts') && sec > FILE_CPU_SEC,
    )
    assert.deepEqual(dear, [], 'make it cheaper, or move it to test/proof')
  })

  it('is measured again when many files are new', () => {
    const fast = pathsOf(files.filter((one) => isIn('test', one)))
    const known = new Set(Object.keys(test?.files ?? {}))
    const unknown = fast.filter((path) => !known.has(path))
    assert.ok(unknown.length <= FILES_WITHOUT_TIME, 'store the times with: npm test -- --times')
  })
})

describe('the processes', () => {
  it('run every file exactly once', () => {
    const planned = planProcesses(files, {}).flat()
    assert.deepEqual(planned.toSorted(), pathsOf(files).toSorted())
  })

  it('are filled with neighbours up to their size, and the longest starts first', () => {
    const planned = planProcesses(
      ['b/c', 'a/b', 'a/a', 'c/a'].map((path) => file(path)),
      { 'a/a': 9, 'a/b': 9, 'b/c': 60 },
    )
    assert.deepEqual(planned, [['b/c'], ['a/a', 'a/b'], ['c/a']])
  })

  it('are left by a file as it found them', () => {
    const changing = files.filter(({ text }) => /^process\.(?:env\.\w+ =|chdir\()/m.test(text))
    assert.deepEqual(pathsOf(changing), [], 'change settings and the folder in a hook')
  })

  it('close what helpers opened when all files are over, not after the first', () => {
    const hooking = helpers.filter(({ text }) => /^(?:before|after)(?:Each)?\(/m.test(text))
    assert.deepEqual(pathsOf(hooking), ['test/kit/at-end.ts'])
  })

  it('are listed by what they cost, the dearest first', () => {
    const lines = slowest(
      [
        { cpuSec: 20, files: { 'a.test.ts': 3, 'b.test.ts': 16 } },
        { cpuSec: 100, files: { 'c.test.ts': 99.04 } },
        { cpuSec: 1, files: { 'd.test.ts': 1 } },
      ],
      2,
    )
    assert.deepEqual(lines, [
      '   100.0 s  c.test.ts (99.0 s)',
      '    20.0 s  b.test.ts (16.0 s) and 1 more',
    ])
  })
})

describe('the quick part', () => {
  it('has rules, seeds and stories, and nothing of proof', () => {
    const quick = pathsOf(files.filter(isQuick))
    assert.ok(quick.includes('test/house/tidy.test.ts'))
    assert.ok(quick.includes('test/stories/seeds.test.ts'))
    assert.deepEqual(
      quick.filter((path) => path.startsWith('test/proof/')),
      [],
    )
  })
})
