// `matoolkit audit`: lists entries by actor, action and time, and verifies the chain, also against an earlier head.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { sealAudit } from '../../../src/db/orders/audit-sealing.ts'
import { plain, plainCsv } from '../../api/contract/fixtures.ts'
import { type Cli, openCli } from '../against-api.ts'

interface Verdict {
  readonly head: { readonly sealed: number; readonly hash: string }
  readonly broken: { readonly why: string } | null
}

describe('matoolkit audit', () => {
  let run: Cli
  before(async () => {
    run = await openCli()
    await run.api.world.publish(plain())
    await run.json('batch', 'create', 'plain', run.file('a.csv', plainCsv('ada@x.example')))
    await run.json('batch', 'cancel', '1', '--reason', '=enough', '--yes')
    while ((await sealAudit(run.api.world.db)).count > 0);
  })
  after(() => run.close())

  it('lists entries, filtered, as a table, JSON and safe CSV', async () => {
    const { out } = await run.cli('audit', 'list', '--subject', 'batch 1')
    assert.match(out, /^ID +AT +WHO +DID +TO +SEALED +REASON\n/)
    assert.match(out, /batch\.cancel +batch 1 +yes +=enough\n/)
    const page = await run.json<{ entries: { action: string }[] }>('audit', 'list', '--limit', '1')
    assert.equal(page.entries.length, 1)
    const csv = await run.cli('audit', 'list', '--action', 'batch.cancel', '--output', 'csv')
    assert.match(csv.out, /"'=enough"/)
    assert.match(
      (await run.cli('audit', 'list', '--actor', 'nobody')).out,
      /No audit entries match/,
    )
    assert.equal((await run.cli('audit', 'list', '--from', 'yesterday')).exit, EXIT.usage)
  })

  it('verifies the chain, also against an earlier head', async () => {
    assert.match((await run.cli('audit', 'verify')).out, /^chain +ok\n/)
    const first = await run.json<Verdict>('audit', 'verify')
    const kept = run.file('head.json', JSON.stringify(first))
    await run.cli('batch', 'members', '1')
    while ((await sealAudit(run.api.world.db)).count > 0);
    const later = await run.json<Verdict>('audit', 'verify', '--against', kept)
    assert.equal(later.broken, null)
    assert.ok(later.head.sealed > first.head.sealed)
  })

  it('reports rows that an earlier check saw and that are gone', async () => {
    const { head } = await run.json<Verdict>('audit', 'verify')
    const cut = { head: { ...head, sealed: head.sealed + 1 } }
    const shorter = await run.cli('audit', 'verify', '--against', run.file('cut.json', text(cut)))
    assert.equal(shorter.exit, EXIT.failed)
    assert.match(shorter.out, /^chain +broken\n[\s\S]*because +the chain ends here/)
    const noted = ['--sealed', String(head.sealed), '--hash', 'a'.repeat(64)]
    const other = await run.cli('audit', 'verify', ...noted)
    assert.equal(other.exit, EXIT.failed)
    assert.match(other.out, /another row was seen in this place/)
  })

  it('refuses half a head, and files without one', async () => {
    const wrong = [
      ['--sealed', '3'],
      ['--hash', 'a'.repeat(64)],
      ['--against', 'gone.json'],
      ['--against', run.file('else.json', '{"head":{"sealed":"3"}}')],
      ['--against', run.file('no.json', 'null')],
      ['--against', run.file('both.json', '{}'), '--sealed', '3'],
    ]
    for (const flags of wrong) {
      const { exit, out } = await run.cli('audit', 'verify', ...flags)
      assert.deepEqual([exit, out], [EXIT.usage, ''], flags.join(' '))
    }
  })
})

const text = (value: unknown): string => JSON.stringify(value)
