import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { isQuick, planProcesses, renderTimes, SLOW } from '../../scripts/test-plan.ts'

const files = globSync('test/**/*.test.ts').map((path) => ({
  path: path.replaceAll('\\', '/'),
  text: readFileSync(path, 'utf8'),
}))
const file = (path: string, text = '') => ({ path, text })

describe('the plan of test processes', () => {
  it('runs every file exactly once', () => {
    const planned = planProcesses(files).flat()
    assert.deepEqual(planned.toSorted(), files.map(({ path }) => path).toSorted())
  })

  it('starts the slow files first, each in a process of its own', () => {
    assert.deepEqual(
      SLOW.filter((path) => !existsSync(path)),
      [],
      'rename them in scripts/test-plan.ts too',
    )
    assert.deepEqual(
      planProcesses(files).slice(0, SLOW.length),
      SLOW.map((path) => [path]),
    )
  })

  it('groups files of one folder, except those that change their whole process', () => {
    const planned = planProcesses([
      file('test/bus/a.test.ts'),
      file('test/bus/b.test.ts', 'describe("x", () => {\n  before(() => {})\n})'),
      file('test/bus/c.test.ts', 'before(() => {})'),
      file('test/bus/d.test.ts', "process.env.HOME = '/'"),
      file('test/db/e.test.ts'),
    ])
    assert.deepEqual(planned, [
      ['test/bus/a.test.ts', 'test/bus/b.test.ts'],
      ['test/db/e.test.ts'],
      ['test/bus/c.test.ts'],
      ['test/bus/d.test.ts'],
    ])
  })

  it('has a quick part with seeds, and without chaos, demonstration and processes', () => {
    const quick = files.filter(isQuick).map(({ path }) => path)
    assert.ok(quick.includes('test/house/tidy.test.ts'))
    assert.ok(quick.includes('test/stories/seeds.test.ts'))
    assert.ok(quick.some((path) => path.startsWith('test/stories/')))
    assert.deepEqual(
      quick.filter((path) => /chaos|demo|mutants|serve|kill/.test(path)),
      [],
    )
  })

  it('lists the times of processes, the dearest first, with their sum', () => {
    const times = renderTimes([
      { files: ['test/a.test.ts', 'test/b.test.ts'], cpuSec: 20, wallSec: 21 },
      { files: ['test/c.test.ts'], cpuSec: 100, wallSec: 60.04 },
    ])
    const [title, ...lines] = times.split('\n')
    assert.match(title!, /2\.0 minutes of processor time in all/)
    assert.deepEqual(lines, [
      '   100.0     60.0  test/c.test.ts',
      '    20.0     21.0  test/a.test.ts test/b.test.ts',
    ])
  })
})
