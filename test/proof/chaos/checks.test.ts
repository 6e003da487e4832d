// The checks of the chaos runs find what they look for.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { ROOT } from '../../kit/processes.ts'
import { outOfOrder, repeatedJobs, tooLate, tooSlow } from './checks.ts'
import type { Effect, Noticed } from './journal.ts'
import { CHAOS_MODES } from './modes.ts'

const LEASE_MS = 5_000

const begin = (jobId: string, pid: number, at: number, step = 'create'): Effect => ({
  what: 'begin',
  jobId,
  pid,
  at,
  key: 'ada',
  step,
})
const end = (jobId: string, at: number, step: string, passes = true): Effect => ({
  what: 'end',
  jobId,
  pid: 1,
  at,
  key: 'ada',
  step,
  passes,
})
const lostLease: Noticed = {
  what: 'lease-lost',
  name: 'worker-1',
  at: 6_000,
  message: 'step-1 step-2',
  count: 2,
}

describe('chaos checks: jobs that ran again', () => {
  const twice = [begin('step-1', 1, 1_000), begin('step-1', 2, 7_000)]
  const records = { effects: twice, happened: [], noticed: [] }
  const found = (more: Partial<Parameters<typeof repeatedJobs>[0]>) =>
    repeatedJobs({ ...records, ...more }, LEASE_MS).found

  it('finds a second run without a reason', () => {
    assert.match(String(found({})), /step-1 ran again 6000 ms later and nothing had happened/)
  })

  it('accepts a kill, a crash of the database and a lost lease as reasons', () => {
    assert.deepEqual(found({ happened: [{ at: 1_500, what: 'killed', who: 'w', pid: 1 }] }), [])
    assert.deepEqual(found({ happened: [{ at: 1_500, what: 'crashed', who: 'database' }] }), [])
    assert.deepEqual(found({ noticed: [lostLease] }), [])
  })

  it('does not accept a kill of another process, or a later one', () => {
    const others = [
      { at: 1_500, what: 'killed', who: 'w', pid: 3 },
      { at: 7_500, what: 'killed', who: 'w', pid: 1 },
    ]
    assert.equal(found({ happened: others }).length, 1)
  })

  it('finds two concurrent runs: within the lease only an abandoned or frozen job may run again', () => {
    const soon = [begin('step-1', 1, 1_000), begin('step-1', 2, 1_800)]
    const killed = { at: 1_500, what: 'killed', who: 'w', pid: 1 }
    const frozen = { at: 1_500, what: 'frozen for 9000 ms', who: 'w', pid: 2 }
    const back: Effect = { what: 'given-back', jobId: 'step-1', pid: 1, at: 1_700 }
    assert.match(String(found({ effects: soon, happened: [killed] })), /within its lease/)
    assert.deepEqual(found({ effects: soon, happened: [frozen] }), [])
    assert.deepEqual(found({ effects: [...soon, back] }), [])
  })

  it('counts the lease from the claim, whose answer may come late', () => {
    const killed = { at: 5_500, what: 'killed', who: 'w', pid: 1 }
    const taken: Effect = { what: 'taken', jobId: 'step-1', pid: 1, at: 4_900, askedAt: 1_000 }
    const runs = [begin('step-1', 1, 5_000), begin('step-1', 2, 6_200)]
    assert.deepEqual(found({ effects: [taken, ...runs], happened: [killed] }), [])
    const later = { ...taken, askedAt: 4_800 }
    assert.match(
      String(found({ effects: [later, ...runs], happened: [killed] })),
      /ran again after 1200 ms, within its lease/,
    )
  })

  it('counts each job once', () => {
    const effects = [1, 2, 3].map((pid) => begin('step-1', pid, pid * 10_000))
    assert.equal(repeatedJobs({ ...records, effects }, LEASE_MS).jobs, 1)
  })
})

describe('chaos checks: order', () => {
  it('finds a step that began before the previous one succeeded', () => {
    const early = [
      begin('step-1', 1, 1, 'create'),
      end('step-1', 2, 'create', false),
      begin('step-2', 1, 3, 'license'),
    ]
    assert.match(String(outOfOrder(early)), /step-2 began license of ada at 3, before create/)
  })

  it('accepts a previous step that runs again later', () => {
    const fine = [
      end('step-1', 2, 'create'),
      begin('step-2', 1, 3, 'license'),
      begin('step-1', 2, 4, 'create'),
    ]
    assert.deepEqual(outOfOrder(fine), [])
  })
})

describe('chaos checks: times', () => {
  it('compare the best of both kinds, and say all of them when the limit is passed', () => {
    const fine = tooSlow('many', [900, 300], 'one', [200, 700], 1.5)
    assert.deepEqual(fine, { ms: 300, baselineMs: 200, ratio: 1.5, findings: [] })
    const { findings } = tooSlow('many', [900, 302], 'one', [200, 700], 1.5)
    assert.deepEqual(findings, [
      'many took 1.51 times as long as one (900, 302 ms; 200, 700 ms), 1.5 is the limit',
    ])
  })

  it('find a late start', () => {
    assert.deepEqual(tooLate('a phase', 2_000, 2_000), [])
    assert.deepEqual(tooLate('a phase', 2_001, 2_000), [
      'a phase started 2001 ms late, 2000 ms is the limit',
    ])
  })
})

describe('chaos modes', () => {
  const chaos = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/chaos.ts', ...args], { cwd: ROOT, encoding: 'utf8' })

  it('have names of their own and say what is broken and what must hold', () => {
    const names = CHAOS_MODES.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    for (const { name, sabotage, holds } of CHAOS_MODES) {
      assert.match(name, /^[a-z]+(-[a-z]+)*$/)
      assert.ok(sabotage.length > 20 && holds.length > 20, name)
    }
    const { status, stdout } = chaos('--help')
    assert.equal(status, 0)
    for (const name of names) assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
  })

  it('that do not exist are refused with the list, before anything starts', () => {
    const { status, stderr } = chaos('--mode', 'meteor')
    assert.equal(status, 2)
    assert.match(stderr, /^There is no mode "meteor"\. Use one of: kills, /)
  })
})
