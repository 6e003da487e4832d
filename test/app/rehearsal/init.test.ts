// `matoolkit runbook init`: the starter runbook is valid, breaks no migration rule, and its rehearsal is ready.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { addRunbookCommands } from '../../../src/cli/commands/runbook/runbook.ts'
import { run } from '../../../src/cli/program.ts'
import { EXIT } from '../../../src/errors.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { rehearseText } from './rehearsing.ts'

const before = process.cwd()
const folder = mkdtempSync(join(tmpdir(), 'init-'))
process.chdir(folder)
after(() => {
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

async function init(...args: string[]) {
  const io = recordingIo()
  const exit = await run(['runbook', 'init', ...args], io, [addRunbookCommands])
  return { exit, out: io.outText(), err: io.errText() }
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
    assert.deepEqual(report.members, {
      total: 2,
      ...{ migrated: 2, inProgress: 0, stopped: 0, failed: 0, removed: 0 },
    })
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
})
