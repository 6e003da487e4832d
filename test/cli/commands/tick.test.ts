// A tick by hand, over the API: it waits, prints what it did, and says what to do when the source fails.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import type { TickNow } from '../../../src/domain/sources/tick-report.ts'
import { sourceAccessFrom } from '../../../src/scheduler/sources/source.ts'
import { tick } from '../../../src/scheduler/tick.ts'
import { plain } from '../../api/contract/fixtures.ts'
import { type Cli, nowhere, openCli, setEnv } from '../against-api.ts'

describe('a tick by hand', () => {
  let cli: Cli
  const tickNow: TickNow = (name, startedBy, stopping) => {
    const source = {
      sourceTimeoutSec: 60,
      identityEndpoint: null,
      identityHeader: null,
      workloadTokenFile: null,
      workloadClientId: null,
      workloadTenantId: null,
    }
    const options = {
      engine: cli.api.world.engine,
      sources: sourceAccessFrom({ ...source, sourceFolder: cli.folder }, realClock()),
      intervalMs: 300_000,
      newToken: randomUUID,
    }
    return tick({ ...options, startedBy, evenIfNotDue: true }, name, stopping)
  }
  before(async () => {
    cli = await openCli({ options: { tickNow } })
    await cli.api.world.publish(plain())
  })
  after(() => cli.close())

  const rows = (...keys: string[]) => {
    const lines = keys.map((key) => `${key},2100-01-01T00:00:00Z\n`)
    writeFileSync(join(cli.folder, 'people.csv'), `UserPrincipalName,When\n${lines.join('')}`)
  }

  it('is refused while automation is off, and says how to turn it on', async () => {
    const none = await cli.cli('automation', 'tick', '--all')
    assert.deepEqual(
      [none.exit, none.out],
      [
        EXIT.ok,
        'No runbook has automation on. Turn it on: matoolkit automation enable <runbook>\n',
      ],
    )
    const off = await cli.cli('automation', 'tick', 'plain')
    assert.deepEqual([off.exit, off.out], [EXIT.conflict, ''])
    assert.match(off.err, /"matoolkit automation enable"\. \(AUTOMATION_OFF\)/)
    const unknown = await cli.cli('automation', 'tick', 'plian')
    assert.equal(unknown.exit, EXIT.notFound)
    assert.match(unknown.err, /\(RUNBOOK_NOT_FOUND\)\n {2}Did you mean "plain"\?\n$/)
    const status = await cli.cli('batch', 'list', '--status', 'active,complted')
    assert.equal(status.exit, EXIT.usage)
    assert.match(status.err, /'active,complted' is invalid\. Did you mean "completed"\?/)
    assert.equal((await cli.cli('batch', 'list', '--status', 'active, completed')).exit, EXIT.ok)
    const far = await cli.cli('automation', 'status', 'something-else')
    assert.deepEqual([far.exit, /Did you mean/.test(far.err)], [EXIT.notFound, false])
    assert.equal((await cli.json<{ total: number }>('batch', 'list')).total, 0)
  })

  it('fails with advice for a file, not for a connection', async () => {
    await cli.cli('automation', 'enable', 'plain')
    const failed = await cli.cli('automation', 'tick', '--all')
    assert.equal(failed.exit, EXIT.failed, failed.err)
    assert.match(
      failed.out,
      /plain +failed +The csv source "people\.csv" is missing: there is no file/,
    )
    assert.ok(failed.out.includes(join(cli.folder, 'people.csv')))
    assert.match(failed.out, /\n\nThe source of plain fails: .*: matoolkit query preview plain\n$/)
    assert.doesNotMatch(failed.out, /environment variable|connection/)
  })

  it('shows what it did in every format', async () => {
    rows('ada@x.example', 'bob@x.example')
    const good = await cli.json<object>('automation', 'tick', 'plain', '--reason', 'new people')
    assert.deepEqual(good, [
      {
        runbookName: 'plain',
        outcome: 'good',
        counts: { batches: 1, joined: 2 },
        error: null,
        needs: [],
      },
    ])
    assert.match((await cli.cli('automation', 'tick', '--all')).out, /plain +good +nothing changed/)
    const csv = await cli.cli('automation', 'tick', '--all', '-o', 'csv')
    assert.match(csv.out, /^RUNBOOK,TICK,WHAT IT DID\r?\nplain,good,nothing changed\r?\n$/)
    assert.match(
      (await cli.cli('automation', 'tick', '--all', '-o', 'yaml')).out,
      /^- runbookName: plain\n/,
    )
    const piped = await cli.script('automation', 'tick', 'plain')
    assert.equal((JSON.parse(piped.out) as object[]).length, 1)
    const audited = await cli.cli('audit', 'list', '--action', 'source.tick')
    assert.match(audited.out, /source\.tick +runbook plain +\w+ +new people/)
    const { ticks } = await cli.json<{ ticks: { startedBy: string }[] }>(
      'source',
      'list',
      'plain',
      '--ticks',
    )
    assert.ok(ticks.every(({ startedBy }) => startedBy !== 'scheduler'))
  })

  it('completes names and ids from the API, and nothing when it does not answer', async () => {
    const complete = async (line: string) => {
      const { exit, out, err } = await cli.cli('complete', ...line.split(' '))
      assert.deepEqual([exit, err], [EXIT.ok, ''], line)
      return out.split('\n').filter(Boolean)
    }
    const OFFERED: readonly [line: string, names: readonly string[]][] = [
      ['runbook', ['plain']],
      ['batch', ['1']],
      ['function -- New-EntraU matoolkit', ['New-EntraUser']],
      ['batch,member --  matoolkit batch remove-member', ['1']],
      ['batch,member --  matoolkit batch remove-member 1', ['ada@x.example', 'bob@x.example']],
      ['batch,member -- a matoolkit batch remove-member 1', ['ada@x.example']],
      ['member -- b matoolkit events --limit 5 1 --member', ['bob@x.example']],
      ['member -- ada@x matoolkit hold --member 1', ['ada@x.example']],
      ['member -- x matoolkit hold --member 1', []],
      ['member --  matoolkit hold', []],
      ['member --  matoolkit hold --member 99', []],
      ['phase --  matoolkit batch members 1 --phase', ['prepare', 'cutover']],
      ['step --  matoolkit batch members 1 --step', ['create', 'switch']],
      ['step -- x matoolkit batch members 1 --step', []],
      ['profile --  matoolkit status --profile', []],
      ['instance --  matoolkit status --instance', []],
      ['runbook --  matoolkit tick --profile nowhere', []],
      ['something', []],
    ]
    for (const [line, names] of OFFERED) assert.deepEqual(await complete(line), names, line)
    await cli.cli('config', 'set', 'output', 'table', '--profile', 'fabrikam')
    assert.deepEqual(await complete('profile -- fab matoolkit status --profile'), ['fabrikam'])
    setEnv({ MATOOLKIT_API_URL: await nowhere() })
    for (const line of ['runbook', 'worker', 'member --  matoolkit member show 1'])
      assert.deepEqual(await complete(line), [], line)
    setEnv({ MATOOLKIT_API_URL: cli.api.url })
  })

  const BAD: [what: string, bytes: string | Buffer, says: RegExp][] = [
    [
      'semicolons',
      'UserPrincipalName;When\na@x;b\n',
      /separates columns with semicolons; use commas/,
    ],
    ['tabs', 'UserPrincipalName\tWhen\na@x\tb\n', /separates columns with tabs/],
    ['UTF-16', Buffer.from('\uFEFFUpn,When\n', 'utf16le'), /is in UTF-16/],
    [
      'Windows-1252',
      Buffer.from('UserPrincipalName,When\nü@x,1\n', 'latin1'),
      /row 2, column 1 reads "ü@x"/,
    ],
  ]
  for (const [what, bytes, says] of BAD) {
    it(`fails with the right sentence and removes nobody: ${what}`, async () => {
      writeFileSync(join(cli.folder, 'people.csv'), bytes)
      const { exit, out } = await cli.cli('automation', 'tick', 'plain')
      assert.equal(exit, EXIT.failed)
      assert.match(out, says)
      const { total } = await cli.json<{ total: number }>('batch', 'members', '1')
      assert.equal(total, 2)
    })
  }
})
