// Ticks over a real source on both databases, and schedulers that race on a real server.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Db, Queryable } from '../../src/db/connection/db.ts'
import { openPostgres } from '../../src/db/connection/postgres.ts'
import { listIssues } from '../../src/db/sources/source-issues.ts'
import { listTicks } from '../../src/db/sources/ticks.ts'
import type { TickReport } from '../../src/domain/sources/tick-report.ts'
import { memberChunks } from '../../src/engine/transactions/member-chunks.ts'
import { makeScheduler, tickDueRunbooks } from '../../src/scheduler/scheduler.ts'
import { openSource } from '../../src/scheduler/sources/source.ts'
import { DATABASES, openTestPostgres } from '../kit/databases.ts'
import { variants } from '../kit/variants.ts'
import {
  at,
  batchesOf,
  openDouble,
  programme,
  range,
  row,
  sourceSettings,
  startProgramme,
  TICK_SEC,
  wave,
  YAML,
} from '../stories/programme.ts'
import { story } from '../stories/world.ts'

const NEVER = new AbortController().signal

for (const database of variants(DATABASES)) {
  describe(`a tick on ${database.kind}`, () => {
    it('reads a dropped file and reports its changes', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'matoolkit-tick-'))
      const test = await database.open()
      try {
        await story({ database: test }, async (base) => {
          const world = await startProgramme(base)
          const settings = sourceSettings(world, folder)
          const options = { ...world.options, sources: { settings, open: openSource } }
          const write = (...lines: string[]) =>
            writeFileSync(
              join(folder, 'x.csv'),
              ['UserPrincipalName,When', ...lines, ''].join('\n'),
            )
          const next = async () => {
            await world.pass(TICK_SEC)
            await tickDueRunbooks(options, NEVER)
            await world.settle()
          }
          await next()
          write(`user1@contoso.example,${at(30)}`, `user2@contoso.example,tomorrow`)
          await next()
          write(`user1@contoso.example,${at(30)}`, `user2@contoso.example,${at(30)}`)
          await next()
          assert.deepEqual(await batchesOf(world), ['30h active: user1, user2'])
          const ticks = await listTicks(world.db, 'WAVE', { limit: 10 })
          assert.deepEqual(
            ticks.map(({ outcome, rowCount, groupCount, counts }) => ({
              outcome,
              rowCount,
              groupCount,
              counts,
            })),
            [
              { outcome: 'good', rowCount: 2, groupCount: 1, counts: { joined: 1 } },
              {
                outcome: 'good',
                rowCount: 2,
                groupCount: 1,
                counts: { batches: 1, joined: 1, issues: 1 },
              },
              { outcome: 'failed', rowCount: null, groupCount: null, counts: {} },
            ],
          )
          assert.match(ticks[2]!.error!, /^The csv source "x.csv"/)
          assert.deepEqual(await listTicks(world.db, 'wave', { limit: 1, before: ticks[1]!.id }), [
            ticks[2],
          ])
          assert.deepEqual(await listIssues(world.db, 'wave', { limit: 10 }), [])
        })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })

    it('writes nothing about members when the result is unchanged', async () => {
      await story({ database: await database.open() }, async (base) => {
        const world = await startProgramme(base)
        await world.tick([
          ...wave(30, ...range(1, 50)),
          ...wave(54, ...range(51, 60)),
          { UserPrincipalName: '', When: '' },
        ])
        await world.tick()
        const written = () =>
          world.db.query(
            `select (select sum(xmin::text::bigint) from batch_members) as members,
                      (select sum(xmin::text::bigint) from batches) as batches,
                      (select sum(xmin::text::bigint) from source_issues) as issues,
                      (select count(*) from events) as events`,
          )
        const before = await written()
        await world.tick()
        assert.deepEqual(await written(), before)
        assert.deepEqual(world.reports.at(-1)!.counts, { issues: 1 })
      })
    })
  })
}

/** The same database; `seen` gets the longest parameter of every statement. */
function watchingParams(db: Db, seen: (chars: number) => void): Db {
  const watched = <Q extends Queryable>(inner: Q): Q => ({
    ...inner,
    query: <R extends object>(sql: string, params: readonly unknown[] = []) => {
      seen(Math.max(0, ...params.map((one) => (typeof one === 'string' ? one.length : 0))))
      return inner.query<R>(sql, params)
    },
  })
  return { ...watched(db), transaction: (work) => db.transaction((tx) => work(watched(tx))) }
}

it('writes wide rows in statements of bounded bytes, whatever changes', () =>
  programme(async (world) => {
    const WIDE_CHARS = 200_000
    let longest = 0
    const db = watchingParams(world.engine.db, (chars) => {
      longest = Math.max(longest, chars)
    })
    const options = { ...world.options, engine: { ...world.engine, db } }
    const tickOver = async (count: number, text: string) => {
      world.rows = range(1, count).map((n) => row(n, at(30), { Note: text.repeat(WIDE_CHARS) }))
      await world.pass(TICK_SEC)
      longest = 0
      await tickDueRunbooks(options, NEVER)
      const { outcome, counts } = world.reports.at(-1)!
      const isBounded = longest > WIDE_CHARS && longest < 5_000_000
      return { outcome, counts, isBounded: isBounded || `a parameter of ${longest} characters` }
    }
    const good = { outcome: 'good', isBounded: true }
    assert.deepEqual(await tickOver(30, 'x'), { ...good, counts: { batches: 1, joined: 30 } })
    assert.deepEqual(await tickOver(60, 'x'), { ...good, counts: { joined: 30 } })
    assert.deepEqual(await tickOver(60, 'y'), { ...good, counts: { refreshed: 60 } })
    const members = await db.query<{ id: number }>('select id from batch_members')
    const sizes: number[] = []
    const ids = members.map(({ id }) => id)
    for await (const { length } of memberChunks(db, ids)) sizes.push(length)
    assert.deepEqual(sizes, [20, 20, 20])
  }))

it('lets one of several racing schedulers tick, without duplicates', async () => {
  const test = await openTestPostgres()
  const others = [await openPostgres({ url: test.url! }), await openPostgres({ url: test.url! })]
  try {
    await story({ database: test }, async (base) => {
      const world = await startProgramme(base)
      const schedulers = [test.db, ...others].map((db) => ({
        ...world.options,
        engine: { ...world.engine, db },
      }))
      for (let round = 0; round < 10; round += 1) {
        world.rows = [
          ...wave(30, ...range(round + 1, round + 40)),
          ...wave(60 + round, 100 + round),
        ]
        await world.pass(TICK_SEC)
        const done = await Promise.all(schedulers.map((options) => tickDueRunbooks(options, NEVER)))
        assert.equal(
          done.reduce((sum, ticked) => sum + ticked, 0),
          1,
        )
        await world.settle()
      }
      const ticks = await listTicks(world.db, 'wave', { limit: 100 })
      assert.deepEqual(
        ticks.map(({ outcome }) => outcome),
        Array(10).fill('good'),
      )
    })
  } finally {
    for (const db of others) await db.close()
  }
})

it('ticks by the clock as a service and stops during a query', () =>
  story({}, async (base) => {
    const world = await startProgramme(base)
    world.rows = wave(30, 1)
    const asked = Promise.withResolvers<void>()
    const sources = {
      ...world.options.sources,
      open: async (...[, , stopping]: Parameters<typeof openSource>) => {
        asked.resolve()
        await new Promise((_, reject) =>
          stopping.addEventListener('abort', () => reject(new Error('stopped'))),
        )
        throw new Error('unreachable')
      },
    }
    const errors: unknown[] = []
    const scheduler = makeScheduler({
      ...world.options,
      sources,
      newToken: randomUUID,
      onError: (error) => void errors.push(error),
    })
    scheduler.start()
    await asked.promise
    await scheduler.stop()
    assert.deepEqual(errors, [])
    const [tick] = await listTicks(world.db, 'wave', { limit: 1 })
    assert.equal(tick!.outcome, 'abandoned')
    await world.tick()
    assert.deepEqual(await batchesOf(world), ['30h active: user1'])
  }))

it('lets four sources that hang cost only their own ticks, in one lane', () =>
  story({}, async (base) => {
    const world = await startProgramme(base)
    const hanging = ['a', 'b', 'c', 'd']
    for (const name of [...hanging, 'healthy']) {
      await world.publish(
        YAML.replace('name: wave', `name: ${name}`).replace('x.csv', `${name}.csv`),
      )
      await world.automate(name)
    }
    world.rows = wave(30, 1)
    const quick = openDouble(world)
    const answer = Promise.withResolvers<void>()
    const open: typeof openSource = async (source, ...rest) => {
      if (hanging.some((name) => source.path === `${name}.csv`)) await answer.promise
      return quick(source, ...rest)
    }
    const reports: string[] = []
    const ticksOf = (name: string) => reports.filter((one) => one === name).length
    const errors: unknown[] = []
    const scheduler = makeScheduler({
      ...world.options,
      sources: { ...world.options.sources, open },
      newToken: randomUUID,
      lanes: 1,
      onTick: ({ runbookName }) => void reports.push(runbookName),
      onError: (error) => void errors.push(error),
    })
    scheduler.start()
    for (let looks = 0; ticksOf('healthy') < 2; looks++) {
      assert.ok(looks < 2_000, `ticked: ${reports}`)
      await world.clock.advance(1_000)
      // The clock moves on while the database answers.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(
      reports.filter((name) => hanging.includes(name)),
      [],
    )
    answer.resolve()
    await scheduler.stop()
    assert.deepEqual(errors, [])
    assert.deepEqual(reports.filter((name) => hanging.includes(name)).sort(), hanging)
  }))

it('blocks only its own lane with a slow source', () =>
  story({}, async (base) => {
    const world = await startProgramme(base)
    await world.publish(YAML.replace('name: wave', 'name: other').replace('x.csv', 'y.csv'))
    await world.automate('other')
    world.rows = wave(30, 1)
    const quick = openDouble(world)
    const slow = Promise.withResolvers<void>()
    const ticked = Promise.withResolvers<TickReport>()
    const open: typeof openSource = async (source, ...rest) => {
      if (source.path === 'x.csv') await slow.promise
      return quick(source, ...rest)
    }
    const reports: string[] = []
    const scheduler = makeScheduler({
      ...world.options,
      sources: { ...world.options.sources, open },
      lanes: 2,
      onTick: (report) => {
        reports.push(report.runbookName)
        ticked.resolve(report)
      },
    })
    scheduler.start()
    assert.equal((await ticked.promise).runbookName, 'other')
    slow.resolve()
    await scheduler.stop()
    await world.settle()
    assert.deepEqual(reports, ['other', 'wave'])
  }))
