// Retention of ended batches: erase, purge. What is kept, what is gone, and what happens when it is killed half way.
import assert from 'node:assert/strict'
import { createReadStream, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { verifyPack } from '../../../../src/api/evidence/verify-pack.ts'
import {
  type ArchivePlace,
  blobPlace,
  folderPlace,
} from '../../../../src/app/upkeep/retention/archive-place.ts'
import {
  eraseEnded,
  purgeEnded,
  type RetentionContext,
} from '../../../../src/app/upkeep/retention/retain.ts'
import { retainOnce } from '../../../../src/app/upkeep/retention/retention-loop.ts'
import { MatoolkitError } from '../../../../src/base/errors/errors.ts'
import { createLog } from '../../../../src/base/log/log.ts'
import type { Db, Queryable } from '../../../../src/db/connection/db.ts'
import { verifyAudit } from '../../../../src/db/orders/audit-chain.ts'
import { sealAudit } from '../../../../src/db/orders/audit-sealing.ts'
import {
  addProgress,
  endBulkAction,
  insertBulkAction,
} from '../../../../src/db/orders/bulk-actions.ts'
import { insertMemberHolds } from '../../../../src/db/orders/member-holds.ts'
import { type EndedBatch, listEndedBatches } from '../../../../src/db/orders/retention.ts'
import { findPast, loadLastPast } from '../../../../src/db/sources/membership.ts'
import { retryMembers } from '../../../../src/engine/orders/member-actions.ts'
import { newKey } from '../../../api/evidence/packs.ts'
import { memberId, runbook, step } from '../../../stories/looking.ts'
import { story, type World } from '../../../stories/world.ts'

const MEMBERS = 3
const PERSONAL = /user\d@contoso|User \d|secret-\d/
const DAY_SEC = 86_400
const KEY = newKey()

interface Past {
  readonly world: World
  readonly context: RetentionContext
  readonly folder: string
  readonly batchId: number
  ended(batchId?: number): Promise<EndedBatch>
}

/** A batch that ended ten days ago, with a failure that names a person; and one that is under way. */
function past(tell: (past: Past) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-archive-'))
  return story({}, async (world) => {
    world.answer = ({ jobId, functionName }) =>
      functionName === 'check' && jobId === 'step-2'
        ? { fail: 'the tenant has no user "user1@contoso.example"' }
        : { ok: { Password: 'secret-1' } }
    const more = 'output_params: { Password: Password }'
    await world.publish(runbook('wave', { 'cutover T-0': [step('create', more), step('check')] }))
    const batchId = await world.batch('wave', MEMBERS)
    await world.settle()
    await repairTogether(world, batchId)
    await world.pass(10 * DAY_SEC)
    await world.batch(
      'wave',
      [{ key: 'new@contoso.example', data: { UserPrincipalName: 'new@contoso.example' } }],
      {
        startsInMin: 60,
      },
    )
    const ended = async (id = batchId) => {
      const endedBefore = new Date(+world.clock.now() - 7 * DAY_SEC * 1000)
      const filter = { endedBefore, batchIds: [id], afterId: 0, limit: 1 }
      return (await listEndedBatches(world.db, filter))[0]!
    }
    const { db, clock } = world
    const context = {
      db,
      clock,
      place: folderPlace(folder),
      signingKey: () => KEY,
      actor: 'operator',
      reason: 'it is over',
    }
    await tell({ world, context, folder, batchId, ended })
  }).finally(() => rmSync(folder, { recursive: true, force: true }))
}

/** A change of several members whose texts name people, and a hold that was never ended. */
async function repairTogether({ db, clock }: World, batchId: number): Promise<void> {
  const about = { batchId, action: 'members.hold', startedBy: 'operator', selectedCount: 2 }
  const named = { reason: 'user1@contoso.example is ill', selection: { search: 'user1@contoso' } }
  await db.transaction(async (tx) => {
    const now = clock.now()
    const id = await insertBulkAction(tx, { ...about, ...named, options: {} }, now)
    const refused = [{ memberId: 2, reason: 'member user2@contoso.example is already held' }]
    await addProgress(tx, id, { done: [1], refused }, now)
    await endBulkAction(tx, id, now)
    const { reason } = named
    await insertMemberHolds(tx, { batchId, memberIds: [1], heldBy: 'operator', reason }, now)
  })
}

/** A database whose process is killed after so many statements: the transaction under way is rolled back. */
function dyingAfter(db: Db, statements: number): Db {
  let left = statements
  const query = (of: Queryable): Db['query'] =>
    ((sql, values) => {
      left -= 1
      if (left < 0) throw new Error('killed')
      return of.query(sql, values)
    }) as Db['query']
  return {
    ...db,
    query: query(db),
    transaction: (work) => db.transaction((tx) => work({ ...tx, query: query(tx) })),
  }
}

/** Every text of every table that names somebody of the batch, except the audit. */
async function personsLeft({ db }: World): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select table_name as name from information_schema.tables
      where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name not in ('audit', 'bundles', 'message_ids')`,
  )
  const found: string[] = []
  for (const { name } of tables)
    for (const { row } of await db.query<{ row: string }>(
      `select to_jsonb(t)::text as row from "${name}" t`,
    ))
      if (PERSONAL.test(row)) found.push(`${name}: ${row}`)
  return found
}

const counts = async ({ db }: World, batchId: number) =>
  (
    await db.query(
      `select b.status, b.members_active as active, b.members_failed as failed, p.steps_succeeded as succeeded, p.members_passed as passed
         from batches b join phase_executions p on p.batch_id = b.id where b.id = $1`,
      [batchId],
    )
  )[0]

describe('erase', () => {
  it('removes every person and keeps counts, course and audit', () =>
    past(async ({ world, context, batchId, ended }) => {
      const { db } = world
      const before = await counts(world, batchId)
      const course = `select event, from_status, to_status, at from events where batch_id = $1 and event <> 'erased' order by id`
      const told = await db.query(course, [batchId])
      assert.ok((await personsLeft(world)).length > 0)
      assert.equal(await eraseEnded(context, await ended()), MEMBERS)
      assert.deepEqual(await personsLeft(world), [])
      assert.deepEqual(await counts(world, batchId), before)
      assert.deepEqual(await db.query(course, [batchId]), told)
      const audit = await db.query(
        `select actor, reason, after_json as after from audit where action = 'batch.erase'`,
      )
      assert.deepEqual(audit, [
        { actor: 'operator', reason: 'it is over', after: { members: MEMBERS } },
      ])
      await sealAudit(db)
      assert.equal((await verifyAudit(db, { keptDays: null, now: world.clock.now() })).broken, null)
      assert.equal(await eraseEnded(context, await ended()), 0, 'a second run finds nothing')
      const [other] = await db.query(
        `select member_key as key from batch_members where member_key like 'new%'`,
      )
      assert.deepEqual(other, { key: 'new@contoso.example' }, 'other batches stay')
    }))

  it('lets nobody be migrated twice: a source that still lists them is recognised', () =>
    past(async ({ world, context, ended }) => {
      const keys = ['user1@contoso.example', 'stranger@contoso.example']
      const look = async () => {
        const found = await findPast(world.db, 'wave', keys)
        const last = await loadLastPast(world.db, 'wave', keys)
        const [one] = found.get(keys[0]!) ?? []
        return [one, found.has(keys[1]!), last.get(keys[0]!), last.has(keys[1]!)]
      }
      const before = await look()
      await eraseEnded(context, await ended())
      assert.deepEqual(await look(), before)
    }))

  it('refuses every action on the batch from then on', () =>
    past(async ({ world, context, batchId, ended }) => {
      const member = await memberId(world, batchId, 1)
      await eraseEnded(context, await ended())
      const order = { batchId, memberIds: [member], actor: 'operator', reason: 'again' }
      await assert.rejects(retryMembers(world.engine, order as never), { code: 'REFUSED' })
    }))
})

describe('purge', () => {
  it('writes a private pack that can be verified, then removes exactly that', () =>
    past(async ({ world, context, batchId, ended }) => {
      const { db, clock } = world
      const before = await counts(world, batchId)
      const events = `select count(*)::int as count from events where batch_id = $1 and event <> 'purged'`
      const [kept] = await db.query<{ count: number }>(events, [batchId])
      const { file, rows } = await purgeEnded(context, await ended())
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.doesNotMatch(file, PERSONAL)
      const { findings, manifest } = await verifyPack(createReadStream(file), KEY.fingerprint)
      assert.deepEqual([findings, manifest!.batch.id], [[], batchId])
      assert.partialDeepStrictEqual(manifest!.tables, {
        phases: 1,
        members: MEMBERS,
        steps: 2 * MEMBERS,
        attempts: 2 * MEMBERS,
        events: kept!.count,
        'bulk-actions': 1,
        'bulk-action-members': 2,
      })
      // The newest event from before a day stays: running processes remember it.
      assert.equal(rows, 4 * MEMBERS + kept!.count - 1)
      assert.deepEqual(await personsLeft(world), [])
      assert.deepEqual(await counts(world, batchId), before, 'counters stay')
      const left = await db.query(
        `select (select count(*)::int from step_executions where batch_id = $1) as steps,
                (select count(*)::int from attempts where batch_id = $1) as attempts,
                (select array_agg(event order by id) from events where batch_id = $1) as events,
                (select count(*)::int from events where batch_id = $1) as remembered,
                (select count(*)::int from step_executions where batch_id <> $1) as others`,
        [batchId],
      )
      assert.deepEqual(left, [
        {
          steps: 0,
          attempts: 0,
          events: ['complete', 'purged'],
          remembered: 2,
          others: 0,
        },
      ])
      assert.equal(await ended(), undefined, 'nothing is left to do')
      await sealAudit(db)
      assert.equal((await verifyAudit(db, { keptDays: null, now: clock.now() })).broken, null)
    }))

  it('deletes nothing of a batch that changes while its pack is written, or without a key', () =>
    past(async ({ world, context, batchId, ended }) => {
      const { db } = world
      const steps = async () =>
        (await db.query('select from step_executions where batch_id = $1', [batchId])).length
      let changed: Promise<unknown> = Promise.resolve()
      const changing = {
        ...context,
        signingKey: () => ({
          ...KEY,
          sign: (bytes: Uint8Array) => {
            changed = db.query(
              `insert into events (at, batch_id, entity, event, actor, because) values ($1, $2, 'batch', 'note', 'x', 'y')`,
              [world.clock.now(), batchId],
            )
            return KEY.sign(bytes)
          },
        }),
      }
      await assert.rejects(purgeEnded(changing, await ended()), {
        code: 'REFUSED',
        message: /has changed since/,
      })
      await changed
      const keyless = () => {
        throw new MatoolkitError('EVIDENCE_KEY_MISSING', {})
      }
      await assert.rejects(purgeEnded({ ...context, signingKey: keyless }, await ended()), {
        code: 'EVIDENCE_KEY_MISSING',
      })
      assert.equal(await steps(), 2 * MEMBERS, 'nothing is gone')
      assert.ok((await purgeEnded(context, await ended())).rows > 0, 'tried again, it goes')
      assert.equal(await steps(), 0)
    }))

  it('continues after a kill at every statement', () =>
    past(async ({ context, folder, ended }) => {
      let kills = 0
      for (let statements = 0; await ended(); statements += 1) {
        const db = dyingAfter(context.db, statements)
        try {
          await purgeEnded({ ...context, db }, await ended())
        } catch (error) {
          assert.match(String(error), /killed/)
          kills += 1
        }
      }
      assert.ok(kills > 10, `killed only ${kills} times`)
      assert.equal(readdirSync(folder).length, 1, 'no drafts are left')
    }))

  it('deletes nothing without its sealed audit row, not even for the owner of the tables', () =>
    past(async ({ world, batchId }) => {
      await assert.rejects(
        world.db.query('select purge_rows($1, 10, $2)', [batchId, world.clock.now()]),
        /is not recorded in a sealed audit row/,
      )
      await assert.rejects(
        world.db.query('select erase_members($1, 10)', [batchId]),
        /not marked as erased/,
      )
    }))
})

/** Blob storage with a policy of immutability, as far as it is used: blocks, lists, one writing per name. */
async function blobStore(): Promise<{
  readonly url: string
  readonly blobs: Map<string, Buffer>
  readonly asked: string[]
  readonly failing: { next: number }
  close(): Promise<void>
}> {
  const blobs = new Map<string, Buffer>()
  const blocks = new Map<string, Buffer>()
  const asked: string[] = []
  const failing = { next: 0 }
  const server = createServer((request, answer) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://store')
    asked.push(`${request.method} ${searchParams.get('comp') ?? ''}`.trim())
    const say = (status: number, text: string | Buffer = '') => answer.writeHead(status).end(text)
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const body = Buffer.concat(parts)
      if (failing.next > 0) {
        failing.next -= 1
        return say(503, 'busy')
      }
      if (request.headers.authorization !== 'Bearer of-the-machine') return say(403, 'who are you')
      if (request.method === 'GET') {
        const found = blobs.get(pathname)
        return found === undefined ? say(404, 'BlobNotFound') : say(200, found)
      }
      if (searchParams.get('comp') === 'block') {
        blocks.set(searchParams.get('blockid')!, body)
        return say(201)
      }
      if (blobs.has(pathname)) return say(409, 'BlobImmutableDueToPolicy')
      const ids = [...body.toString().matchAll(/<Latest>(.+?)<\/Latest>/g)].map(([, id]) => id!)
      blobs.set(pathname, Buffer.concat(ids.map((id) => blocks.get(id)!)))
      say(201)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/archive`
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  return { url, blobs, asked, failing, close }
}

async function wholeOf(place: ArchivePlace, name: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of await place.read(name)) parts.push(part)
  return Buffer.concat(parts)
}

describe('packs in Blob storage', () => {
  it('are written whole and once, read again before anything is purged, and leave nothing on the disk', () =>
    past(async ({ world, context, folder, batchId, ended }) => {
      const store = await blobStore()
      try {
        const at = { url: store.url, clock: world.clock, token: async () => 'of-the-machine' }
        const place = blobPlace(at)
        const inBlobs = { ...context, place }
        const steps = async () =>
          (await world.db.query('select from step_executions where batch_id = $1', [batchId]))
            .length
        const refused = blobPlace({ ...at, token: async () => 'of-a-stranger' })
        await assert.rejects(purgeEnded({ ...context, place: refused }, await ended()), {
          code: 'REFUSED',
          message: /answered 403 who are you/,
        })
        const lost = { ...place, read: () => place.read('another') }
        await assert.rejects(purgeEnded({ ...context, place: lost }, await ended()), {
          message: /404/,
        })
        const [path, whole] = [...store.blobs][0]!
        await assert.rejects(purgeEnded(inBlobs, await ended()), { message: /409 BlobImmutable/ })
        assert.equal(store.blobs.get(path), whole, 'what is written stays')
        await world.pass(1)
        const cut = {
          ...place,
          read: async (name: string) => {
            const bytes = await wholeOf(place, name)
            return Readable.from([bytes.subarray(0, -9)])
          },
        }
        await assert.rejects(purgeEnded({ ...context, place: cut }, await ended()), {
          code: 'REFUSED',
          message: /is damaged/,
        })
        assert.equal(await steps(), 2 * MEMBERS, 'nothing is gone')
        await world.pass(1)
        const { file } = await purgeEnded(inBlobs, await ended())
        assert.match(file, /\/archive\/batch-\d+-ended-\w+-purged-\w+\.tar\.gz$/)
        assert.doesNotMatch(file, PERSONAL)
        assert.deepEqual([store.blobs.size, await ended(), await steps()], [3, undefined, 0])
        assert.deepEqual(readdirSync(folder), [])
      } finally {
        await store.close()
      }
    }))

  it('waits for a store that is busy, and not forever', async () => {
    const store = await blobStore()
    try {
      const waits: number[] = []
      const clock = { now: () => new Date(0), wait: async (ms: number) => void waits.push(ms) }
      const place = blobPlace({
        url: store.url,
        clock,
        token: async () => 'of-the-machine',
      } as never)
      const write = (name: string) => place.write(name, Readable.from([Buffer.from('whole')]))
      store.failing.next = 2
      await write('a')
      assert.deepEqual(waits, [1_000, 4_000])
      assert.equal(String(await wholeOf(place, 'a')), 'whole')
      store.failing.next = 99
      await assert.rejects(write('b'), { code: 'REFUSED', message: /answered 503 busy/ })
      assert.equal(waits.length, 2 + 3)
      assert.equal(store.blobs.size, 1)
    } finally {
      await store.close()
    }
  })
})

describe('automatic retention', () => {
  it('erases and purges what the settings no longer keep, once, and nothing younger', () =>
    past(async ({ world, context, batchId, ended }) => {
      const { db, clock } = world
      const log = createLog({
        level: 'silent',
        format: 'json',
        clock,
        destination: { isTTY: false, write: () => {} },
      } as never)
      const { signal } = new AbortController()
      const options = { db, clock, log, place: context.place, signingKey: () => KEY }
      const run = (personsKeptDays: number | null, batchesKeptDays: number | null, token = 'a') =>
        retainOnce({ ...options, personsKeptDays, batchesKeptDays }, token, signal)
      assert.deepEqual(await run(30, 30), { erased: 0, purged: 0 })
      assert.deepEqual(await run(9, 30), { erased: 1, purged: 0 })
      assert.deepEqual(
        await run(9, 9, 'b'),
        { erased: 0, purged: 0 },
        'another process has the lease',
      )
      assert.deepEqual(await run(9, 9), { erased: 0, purged: 1 })
      assert.deepEqual(await run(9, 9), { erased: 0, purged: 0 })
      assert.equal(await ended(batchId), undefined)
      const unfinished = await db.query(
        `select from batches where ended_at is null and erased_at is null`,
      )
      assert.equal(unfinished.length, 1)
    }))
})
