// `matoolkit runbook rehearse` as people call it: exit codes, formats, and what it says about wrong files.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { commandsFor } from '../../../src/app/commands/nouns.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { run } from '../../../src/cli/program/program.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { example, REHEARSAL_HOME } from './rehearsing.ts'

const folder = mkdtempSync(join(tmpdir(), 'rehearsal-'))
before(() => {
  process.env.MATOOLKIT_HOME = REHEARSAL_HOME
})
after(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

async function command(...args: string[]) {
  const io = recordingIo()
  const words = ['runbook', 'rehearse', ...args]
  const exit = await run(words, io, await commandsFor(words))
  return { exit, out: io.outText(), err: io.errText() }
}

const runbook = file('first.yaml', example('first-migration.yaml'))
const members = file('first.csv', example('first-migration.csv'))
/** Both phases are due at 20:00. */
const windows = file('nights.yaml', 'time_zone: UTC\nhours: [{from: "23:00", to: "20:00"}]\n')

describe('runbook rehearse', () => {
  it('ends with 1 when somebody would fail, and says who and why', async () => {
    const { exit, out } = await command(
      runbook,
      '--members',
      members,
      '-o',
      'table',
      '--windows-file',
      windows,
    )
    assert.equal(exit, EXIT.failed)
    assert.match(out, /^first-migration: not ready\n3 members in 1 batch: 2 of 3 done, 1 failed\. /)
    assert.match(out, /✗ 1 of 3 members would have failed\./)
    assert.match(out, /PHASE +DUE .* RESULT.*\n.* prepare .* in time.*\n.* cutover .* in time/)
    assert.match(out, /cutover .*in time, waited 3h for the change window/)
    assert.match(out, /\nIn all, phases waited 6h for the change window\.\n/)
    assert.match(out, /! Phase prepare of batch 1 waited 3h for the change window\./)
    assert.match(out, /1 time in step create-account of phase prepare: .*domain portion/)
    assert.match(out, /Who acts: an administrator of the tenant/)
  })

  it('ends with 0 when it is ready, and answers a script with JSON', async () => {
    const good = file(
      'good.csv',
      example('first-migration.csv').replace('@fabricam.', '@fabrikam.'),
    )
    const { exit, out } = await command(runbook, '--members', good, '--seed', '3')
    const { verdict, seed, timeline } = JSON.parse(out)
    assert.deepEqual([exit, verdict, seed, timeline.length], [EXIT.ok, 'ready', 3, 2])
    const templates = readdirSync(join(REHEARSAL_HOME, 'templates'))
    assert.equal(templates.length, 1, 'the empty database is kept for the next rehearsal')
    assert.match(templates[0]!, /^throw-away-[0-9a-f]{16}\.tar$/)
  })

  const WRONG: readonly [string, () => string[], RegExp][] = [
    [
      'no people',
      () => [file('u.yaml', example('user-migration.yaml'))],
      /source is dataverse.*--members/,
    ],
    [
      'a missing member file',
      () => [runbook],
      /"first-migration.csv" is not in the runbook's folder/,
    ],
    [
      'an unknown fault',
      () => [runbook, '--members', members, '--faults', 'trottling'],
      /"trottling" is not a list of known faults. Name some of throttling, worker-crash/,
    ],
    [
      'a file of channels with a mistake',
      () => [runbook, '--members', members, '--notifications', file('n.yaml', 'channels: []')],
      /n\.yaml:1:11 channels: /,
    ],
    ['a seed that is none', () => [runbook, '--seed', 'x'], /whole number from 1 to/],
    [
      'an invalid runbook',
      () => [file('bad.yaml', 'name: a b'), '--members', members],
      /errors; the first/,
    ],
    [
      'tenants that are none',
      () => [runbook, '--members', members, '--tenant', file('t.json', '{"tenants": 1}')],
      /cannot be used as tenants: tenants: /,
    ],
    [
      'tenants without one for the worker',
      () => [
        runbook,
        '--members',
        members,
        '--tenant',
        file('two.json', '{"tenants":[{"domains":["a.example"]},{"domains":["b.example"]}]}'),
      ],
      /No tenant is for worker "fabrikam-worker": there are a, b/,
    ],
    [
      'a mistake in the windows file',
      () => [
        runbook,
        '--members',
        members,
        '--windows-file',
        file('w.yaml', 'time_zone: UTC\nhours: 1\n'),
      ],
      /w\.yaml:2:8 /,
    ],
  ]
  for (const [what, args, says] of WRONG) {
    it(`refuses ${what} before it begins`, async () => {
      const { exit, out, err } = await command(...args())
      assert.match(err, says)
      assert.notEqual(exit, EXIT.ok)
      assert.equal(out, '')
    })
  }
})
