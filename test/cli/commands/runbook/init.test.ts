// `matoolkit runbook init`: the starter runbook is valid, breaks no migration rule, and its rehearsal is ready.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import { addRunbookCommands } from '../../../../src/cli/commands/runbook/runbook.ts'
import { run } from '../../../../src/cli/program/program.ts'
import { readRunbook } from '../../../../src/domain/runbook/read.ts'
import { noStates } from '../../../../src/domain/state/person-state.ts'
import { rehearseText } from '../../../app/rehearsal/rehearsing.ts'
import { type RecordingOptions, recordingIo } from '../../recording-io.ts'

const folder = mkdtempSync(join(tmpdir(), 'init-'))
const folderBefore = process.cwd()
before(() => process.chdir(folder))
after(() => {
  process.chdir(folderBefore)
  rmSync(folder, { recursive: true })
})

async function init(...args: string[]) {
  return initWith({}, ...args)
}

async function initWith(options: RecordingOptions, ...args: string[]) {
  const io = recordingIo(options)
  const exit = await run(['runbook', 'init', ...args], io, [addRunbookCommands])
  return { exit, out: io.outText(), err: io.errText(), asked: io.asked }
}

describe('runbook init', () => {
  it('writes a runbook and people whose rehearsal is ready', async () => {
    const { exit, out } = await init('wave', '--from', 'old.example', '--to', 'new.example')
    assert.equal(exit, EXIT.ok)
    assert.match(
      out,
      /^Wrote wave\.runbook\.yaml and wave\.csv\.\nNext: matoolkit runbook rehearse wave\.runbook\.yaml\n$/,
    )
    const [yaml, csv] = ['wave.runbook.yaml', 'wave.csv'].map((file) => readFileSync(file, 'utf8'))
    const report = await rehearseText(yaml!, csv!)
    assert.deepEqual([report.verdict, report.reasons, report.warnings], ['ready', [], []])
    assert.deepEqual(report.members, { ...noStates(), total: 2, done: 2 })
    assert.deepEqual(
      report.tenants.map(({ name, domains }) => [name, domains[0]]),
      [['new', 'new.example']],
    )
  })

  it('replaces nothing unless told to, and refuses names and domains that are none', async () => {
    const kept = readFileSync('wave.csv', 'utf8')
    const again = await init('wave', '--to', 'other.example')
    assert.notEqual(again.exit, EXIT.ok)
    assert.match(again.err, /wave\.runbook\.yaml.*exists/)
    assert.equal(readFileSync('wave.csv', 'utf8'), kept)
    assert.match((await init('a b')).err, /"a b" is not a valid name/)
    assert.match((await init('wave', '--to', 'contoso')).err, /"contoso" is not a domain/)
    assert.equal((await init('wave', '--to', 'other.example', '--force')).exit, EXIT.ok)
    assert.notEqual(readFileSync('wave.csv', 'utf8'), kept)
  })

  it('asks on a terminal for what no flag says, again after a wrong answer, and its rehearsal is ready', async () => {
    const answers = ['a b', 'pilot', 'new.example', '2031-02-03 21:00', 'desk@new.example', 'y']
    const now = new Date('2031-01-01T08:00:00Z')
    const { exit, err, asked } = await initWith({ answers, now }, '--from', 'old.example')
    assert.equal(exit, EXIT.ok, err)
    assert.deepEqual(asked, [
      'Name of the runbook [wave]: ',
      'Name of the runbook [wave]: ',
      'Domain that people move to [contoso.example]: ',
      'First cut-over [2031-01-31T20:00:00Z]: ',
      'Sender of a notice to each person, or "none" [none]: ',
      'Continue? [y/N] ',
    ])
    assert.match(err, /"a b" is not a valid name/)
    assert.match(
      err,
      /Writes pilot\.runbook\.yaml and pilot\.csv: from old\.example to new\.example/,
    )
    const [yaml, csv] = ['pilot.runbook.yaml', 'pilot.csv'].map((f) => readFileSync(f, 'utf8'))
    assert.match(csv!, /,ada\.adler@new\.example,2031-02-03T21:00:00Z\n/)
    assert.match(yaml!, /From: desk@new\.example\n/)
    const report = await rehearseText(yaml!, csv!)
    assert.deepEqual([report.verdict, report.reasons, report.warnings], ['ready', [], []])
    assert.equal(report.members.done, 2)
  })

  it('writes nothing without a yes, after three wrong answers, and without a name in a pipe', async () => {
    const before = readdirSync('.')
    const refused = await initWith({ answers: ['other'] })
    assert.match(refused.err, /CONFIRMATION_REFUSED/)
    const wrong = await initWith({ answers: ['a b', 'c d', 'e f', 'good'] })
    assert.deepEqual([wrong.exit, wrong.asked.length], [EXIT.usage, 3])
    const piped = await init('--from', 'old.example')
    assert.equal(piped.exit, EXIT.usage)
    assert.match(piped.err, /Give the runbook a name: matoolkit runbook init wave/)
    assert.deepEqual(piped.asked, [])
    for (const [args, says] of [
      [['--start', '2020-01-01'], /"2020-01-01" is over/],
      [['--start', 'soon'], /Invalid time "soon"/],
      [['--notice-from', 'desk'], /"desk" is not a mail address/],
      [['--from', 'A.example', '--to', 'a.example'], /to itself/],
    ] as const) {
      const said = await init('other', ...args)
      assert.equal(said.exit, EXIT.usage)
      assert.match(said.err, says)
      assert.deepEqual(said.asked, [], 'a name means no questions')
    }
    assert.deepEqual(readdirSync('.'), before)
  })

  it('quotes a name that YAML would read as a number or a word of its own', async () => {
    for (const name of ['2030', 'null', 'true']) {
      assert.equal((await init(name)).exit, EXIT.ok)
      const { runbook } = readRunbook(readFileSync(`${name}.runbook.yaml`, 'utf8'))
      assert.equal(runbook?.name, name)
    }
  })
})
