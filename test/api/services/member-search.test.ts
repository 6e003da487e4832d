// Search for members by part of their key: it finds exactly what a scan of every key finds, whatever was cached before.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { KeyText, MemberSearch } from '../../../src/api/services/member-search.ts'
import type { Queryable } from '../../../src/db/connection/db.ts'
import { startProgramme } from '../../stories/programme.ts'
import { plain } from '../contract/fixtures.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'

describe('a key text', () => {
  const text = new KeyText()
  text.add([3, 4], ['ann@x', 'anna@x'])
  text.add([9, 12, 13], ['bob\nx@x', 'zoë@x', 'x'])
  const CASES: readonly (readonly [part: string, ...ids: number[]])[] = [
    ['ann', 3, 4],
    ['x', 3, 4, 9, 12, 13],
    ['anna@x', 4],
    ['zoë', 12],
    ['b\nx', 9],
    ['x\nan'],
    ['x\n'],
    ['nobody'],
  ]
  for (const [part, ...ids] of CASES) {
    it(`finds ${JSON.stringify(part)} in ${ids.length}`, () => {
      assert.deepEqual(text.find(part, 99, 0), ids)
    })
  }
  it('stops at its limit and resumes after an id', () => {
    assert.deepEqual(text.find('x', 2, 0), [3, 4])
    assert.deepEqual(text.find('x', 2, 4), [9, 12])
    assert.deepEqual(text.find('x', 2, 5), [9, 12])
    assert.deepEqual(text.find('x', 2, 13), [])
    assert.deepEqual(new KeyText().find('x', 2, 0), [])
  })
})

describe('cached keys', () => {
  /** Replaces the database by a table of keys and counts the reads. */
  function tableOf(keys: [id: number, key: string][]) {
    const table = { keys, reads: 0 }
    const db = {
      query: async (_: string, [, above]: [number, number]) => {
        table.reads += 1
        const rows = table.keys.filter(([id]) => id > above).sort(([a], [b]) => a - b)
        return [{ ids: rows.map(([id]) => id), keys: rows.map(([, key]) => key) }]
      },
    } as unknown as Queryable
    const batch = (id = 1) => ({
      id,
      membersActive: table.keys.length,
      membersFailed: 0,
      membersRemoved: 0,
    })
    return { table, db, batch }
  }

  it('are read once for concurrent searches', async () => {
    const { table, db, batch } = tableOf([
      [1, 'ann'],
      [2, 'bob'],
    ])
    const search = new MemberSearch()
    const found = await Promise.all(
      ['a', 'b', 'n'].map((part) => search.find(db, batch(), part, 9)),
    )
    assert.deepEqual(found, [[1], [2], [1]])
    await search.find(db, batch(), 'a', 9)
    assert.equal(table.reads, 1)
  })

  it('are completed when the batch grows, including members committed late', async () => {
    const { table, db, batch } = tableOf([[5, 'ann']])
    const search = new MemberSearch()
    assert.deepEqual(await search.find(db, batch(), 'n', 9), [5])
    table.keys.push([6, 'jen'])
    assert.deepEqual(await search.find(db, batch(), 'n', 9), [5, 6])
    table.keys.push([4, 'nan'])
    assert.deepEqual(await search.find(db, batch(), 'n', 9), [4, 5, 6])
  })

  it('are complete for searches that saw different counts', async () => {
    const { table, db, batch } = tableOf([[1, 'ann']])
    const search = new MemberSearch()
    const early = search.find(db, batch(), 'n', 9)
    table.keys.push([2, 'jen'])
    const later = [1, 2, 3].map(() => search.find(db, batch(), 'n', 9))
    await early
    for (const found of await Promise.all(later)) assert.deepEqual(found, [1, 2])
  })

  it('are evicted when there are too many, least recently searched first', async () => {
    const { table, db, batch } = tableOf([
      [1, 'ann'],
      [2, 'bob'],
    ])
    const search = new MemberSearch(4)
    for (const id of [1, 2, 1, 3]) await search.find(db, batch(id), 'a', 9)
    assert.equal(table.reads, 3)
    await search.find(db, batch(1), 'a', 9)
    assert.equal(table.reads, 3)
    await search.find(db, batch(2), 'a', 9)
    assert.equal(table.reads, 4)
  })

  it('are read again after a failed read', async () => {
    const { db, batch } = tableOf([[1, 'ann']])
    const broken = { query: () => Promise.reject(new Error('gone')) } as unknown as Queryable
    const search = new MemberSearch()
    await assert.rejects(search.find(broken, batch(), 'a', 9), /gone/)
    assert.deepEqual(await search.find(db, batch(), 'a', 9), [1])
  })
})

describe('member search over HTTP', () => {
  const MANY = 1_100
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    const world = await startProgramme(api.world)
    await world.publish(plain())
    const members = Array.from({ length: MANY }, (_, n) => {
      const key = `User${(n * 7) % MANY}@X.example`
      return { key, data: { UserPrincipalName: key } }
    })
    await world.batch('plain', members, { manual: true })
    await api.world.db.query(
      `update batch_members set status = 'failed', failed_at = added_at where id % 10 = 0`,
    )
    await api.world.db.query(
      'update batches set members_active = members_active - 110, members_failed = 110',
    )
  })
  after(() => api.close())

  interface Page {
    members: { id: number; memberKey: string }[]
    total: number
    isTotalExact: boolean
    next: string | null
  }
  async function all(query: string) {
    const pages: Page[] = []
    let cursor = ''
    do {
      const path = `/api/batches/1/members?limit=400&${query}${cursor}`
      const { body } = await api.call<Page>('GET', path)
      pages.push(body)
      cursor = body.next === null ? '' : `&cursor=${body.next}`
    } while (cursor !== '')
    const { total, isTotalExact } = pages[0]!
    const keys = pages.flatMap(({ members }) => members.map(({ memberKey }) => memberKey))
    const ids = pages.flatMap(({ members }) => members.map(({ id }) => id))
    return { total, isTotalExact, keys, ids }
  }

  it('lists every match page by page, also when there are too many to count', async () => {
    const { total, isTotalExact, ids } = await all('search=X.EXAMPLE')
    assert.deepEqual([total, isTotalExact], [1_000, false])
    assert.deepEqual(
      ids,
      Array.from({ length: MANY }, (_, n) => n + 1),
    )
  })
  it('sorts by key', async () => {
    const { keys } = await all('search=x.example&sort=key')
    assert.deepEqual(
      keys,
      keys.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
    )
    assert.equal(new Set(keys).size, MANY)
  })
  it('counts few matches exactly, and finds one or none', async () => {
    const few = await all('search=r9&sort=key')
    assert.deepEqual([few.total, few.isTotalExact, few.keys.length], [111, true, 111])
    assert.deepEqual((await all('search=user1099@')).keys, ['User1099@X.example'])
    assert.deepEqual((await all('search=nobody')).total, 0)
  })
  it('combines with a status, for many matches or few', async () => {
    const many = await all('search=x.example&status=failed')
    assert.deepEqual([many.total, many.isTotalExact, many.ids.length], [110, true, 110])
    const few = await all('search=r9&status=failed')
    assert.ok(few.total > 0 && few.ids.every((id) => id % 10 === 0))
  })
})
