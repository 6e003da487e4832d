// The audit over HTTP: its rows, its filters, and a hash chain that reveals tampering.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { verifyAudit } from '../../../src/db/orders/audit-chain.ts'
import { sealAudit } from '../../../src/db/orders/audit-sealing.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { formOf, plain, plainCsv } from './fixtures.ts'

interface Page {
  entries: {
    id: number
    action: string
    subject: string
    reason: string | null
    isSealed: boolean
  }[]
  total: number
  next: string | null
}
interface Verdict {
  head: { sealed: number; hash: string }
  unsealed: number
  broken: { why: string; sealNumber: number } | null
}

/** As the API does outside of tests. */
const EACH_MINUTE = { options: { maintenanceIntervalMs: 60_000 } }

describe('the audit', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest(EACH_MINUTE)
    await api.world.publish(plain())
    const form = formOf(plainCsv('a@x.example'), { runbookName: 'plain', reason: 'a wave' })
    await api.call('POST', '/api/batches', { form })
    await api.call('GET', '/api/batches/1/members?status=active')
    await api.call('POST', '/api/batches/1/cancel', { body: { reason: 'enough' } })
    await api.refused(409, 'REFUSED', 'POST', '/api/batches/1/cancel', {
      body: { reason: 'more' },
    })
  })
  after(() => api.close())
  const list = (query: string) => api.call<Page>('GET', `/api/audit${query}`)
  const verify = (query = '') => api.call<Verdict>('GET', `/api/audit/verification${query}`)

  it('has a row for each change and each read of members, and none for refusals', async () => {
    const { body } = await list('?subject=batch%201')
    assert.deepEqual(
      body.entries.map(({ action, reason }) => [action, reason]),
      [
        ['batch.cancel', 'enough'],
        ['batch.create', 'a wave'],
      ],
    )
    const looks = await list('?action=read%20listMembers')
    assert.deepEqual(looks.body.entries[0]!.subject, '/api/batches/1/members')
  })

  it('filters by actor and time, in pages', async () => {
    const first = await list('?limit=1')
    const second = await list(`?limit=1&cursor=${first.body.next}`)
    assert.ok(second.body.entries[0]!.id < first.body.entries[0]!.id)
    const now = api.world.clock.now().toISOString()
    assert.equal((await list(`?before=${now}`)).body.total, 0)
    assert.ok((await list(`?from=${now}`)).body.total > 3)
    assert.equal((await list('?actor=nobody')).body.total, 0)
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/audit?cursor=x')
  })

  it('is sealed each minute, and its chain is valid', async () => {
    await api.world.clock.advance(60_000)
    // The minute woke the API's own sealer; while it works, ours finds nothing and the rows are still open.
    let { body } = await verify()
    for (let round = 0; body.unsealed > 0 && round < 100; round++) {
      await sealAudit(api.world.db)
      body = (await verify()).body
    }
    assert.deepEqual([body.broken, body.unsealed], [null, 0])
    assert.ok(body.head.sealed > 3)
    const { body: known } = await verify(`?sealed=${body.head.sealed}&hash=${body.head.hash}`)
    assert.equal(known.broken, null)
  })

  it('refuses updates by SQL, and the chain reveals a forced one', async () => {
    const { db } = api.world
    for (const sql of [
      `update audit set reason = 'x' where id = 1`,
      'delete from audit where id = 1',
      `update audit set hash = 'x' where id = 1`,
    ])
      await assert.rejects(db.query(sql), /audit rows are never changed or deleted/)
    const head = (await verify()).body.head
    const forged = async (sql: string): Promise<Verdict['broken']> => {
      class Undo extends Error {}
      let found: Verdict['broken'] = null
      await db
        .transaction(async (tx) => {
          await tx.script(`alter table audit disable trigger audit_rows_are_immutable; ${sql}`)
          found = (
            await verifyAudit(tx, { known: head, keptDays: null, now: api.world.clock.now() })
          ).broken
          throw new Undo()
        })
        .catch((error: unknown) => assert.ok(error instanceof Undo, String(error)))
      return found
    }
    const why = async (sql: string) => (await forged(sql))?.why
    assert.match((await why(`update audit set reason = 'x' where seal_number = 2`))!, /contents/)
    assert.match(
      (await why(`update audit set before_json = '1' where seal_number = 2`))!,
      /contents/,
    )
    assert.match((await why('delete from audit where seal_number = 2'))!, /missing/)
    assert.match(
      (await why('delete from audit where seal_number = (select max(seal_number) from audit)'))!,
      /ends here/,
    )
    assert.equal(await why('select 1'), undefined)
  })
})

it('audit rows are kept as long as the setting says', async () => {
  const api = await openApiUnderTest({ config: { auditKeptDays: 30 }, ...EACH_MINUTE })
  try {
    const { db, clock } = api.world
    const write = (daysAgo: number) =>
      db.query(
        `insert into audit (at, actor, action, subject) values ($1, 'a', 'batch.hold', $2)`,
        [new Date(+clock.now() - daysAgo * 24 * 3_600_000), `${daysAgo} days ago`],
      )
    for (const daysAgo of [40, 32, 29, 0]) await write(daysAgo)
    const left = async () => {
      await clock.advance(60_000)
      const rows = await db.query<{ subject: string }>('select subject from audit order by id')
      return rows.map(({ subject }) => subject)
    }
    let subjects = await left()
    for (let round = 0; subjects.length > 3 && round < 100; round++) subjects = await left()
    assert.deepEqual(subjects, ['29 days ago', '0 days ago', 'audit'])
  } finally {
    await api.close()
  }
})

covers('listAudit', 'verifyAudit')
