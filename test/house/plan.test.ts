// The two suites together are every test, the fast one stays fast, and files that share a process leave nothing behind for each other.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { isIn, isQuick, planProcesses, SUITES, slowest } from '../../scripts/test-plan.ts'

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
