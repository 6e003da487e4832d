// What only a server can show: connections that are cut, reset or go silent. Each loss is one error to its caller and never the
// end of the process, and the next statement works again.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { isTransient } from '../../../src/base/errors/transient.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { startProxy, type TcpProxy } from '../../proof/chaos/proxy.ts'

const ANSWER_WITHIN_MS = 300

const settled = async (given: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(given)).map((one) => ({
    status: one.status,
    reason: one.status === 'rejected' ? (one.reason as unknown) : undefined,
  }))

describe('a PostgreSQL server over a bad network', () => {
  let test: TestDatabase
  let proxy: TcpProxy
  let db: Db
  before(async () => {
    test = await openTestPostgres()
    await test.db.script('create table marks (mark text)')
  })
  after(() => test.close())
  beforeEach(async () => {
    const server = new URL(test.url!)
    proxy = await startProxy(Number(server.port))
    server.port = String(proxy.port)
    db = await openPostgres({
      url: server.href,
      poolSize: 2,
      statementTimeoutMs: ANSWER_WITHIN_MS,
      answerGraceMs: ANSWER_WITHIN_MS,
      listenCheckMs: ANSWER_WITHIN_MS,
    })
  })
  afterEach(async () => {
    await db.close()
    await proxy.close()
  })

  for (const mode of ['reset', 'stall', 'cut'] as const) {
    it(`${mode} during a transaction gives a transient error, keeps nothing, and the next one works`, async () => {
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.query('insert into marks values ($1)', [mode])
          proxy.become(mode)
          await tx.query('select 1')
        }),
        (error) => isTransient(error),
      )
      proxy.become('pass')
      const marks = await db.query('select mark from marks where mark = $1', [mode])
      assert.deepEqual(marks, [])
    })

    it(`${mode} between two statements of a transaction does not end the process`, async () => {
      const begun = Promise.withResolvers<void>()
      const lost = Promise.withResolvers<void>()
      const transaction = db.transaction(async (tx) => {
        await tx.query('select 1')
        begun.resolve()
        await lost.promise
        await tx.query('select 2')
      })
      await begun.promise
      proxy.become(mode)
      // The error of a connection that is lent out comes in a turn of its own, with nobody waiting for an answer.
      await new Promise((resolve) => setImmediate(resolve))
      await new Promise((resolve) => setImmediate(resolve))
      lost.resolve()
      await assert.rejects(transaction, (error) => isTransient(error))
      proxy.become('pass')
      assert.deepEqual(await db.query('select 1 as one'), [{ one: 1 }])
    })
  }

  for (const mode of ['reset', 'stall', 'cut'] as const) {
    it(`${mode} during several statements gives each a transient error, and the next one works`, async () => {
      await assert.rejects(
        db.transaction(async (tx) => {
          proxy.become(mode)
          const given = ['select 1', 'select 2', 'select 3'].map((sql) => tx.query(sql, []))
          for (const { status, reason } of await settled(given)) {
            assert.ok(status === 'rejected' && isTransient(reason), `${mode}: ${reason}`)
          }
          await Promise.all(given)
        }),
        (error) => isTransient(error),
      )
      proxy.become('pass')
      assert.deepEqual(await db.query('select 1 as one'), [{ one: 1 }])
    })
  }

  // Else a deadlock could come out as "the transaction is aborted", which nobody would try again.
  it('concurrent statements all fail with the error of the first', async () => {
    const reasons = await db.transaction(async (tx) => {
      const given = ['select 1', 'select 1 / 0', 'select 2', 'select 3']
      const ended = await settled(given.map((sql) => tx.query(sql, [])))
      return ended.map(({ reason }) => (reason as Error | undefined)?.message)
    })
    const why = 'division by zero'
    assert.deepEqual(reasons, [undefined, why, why, why])
  })

  it('a statement without an answer fails in bounded time', async () => {
    await db.query('select 1')
    proxy.become('stall')
    await assert.rejects(db.query('select 2'), (error) => isTransient(error))
    proxy.become('pass')
    assert.deepEqual(await db.query('select 3 as three'), [{ three: 3 }])
  })

  it('a slow network only slows statements', async () => {
    proxy.become('trickle')
    const [row] = await db.query<{ text: string }>(`select repeat('x', 2000) as text`)
    assert.equal(row!.text.length, 2_000)
  })

  it('listening resumes after a reset and after silence', async () => {
    for (const mode of ['reset', 'stall'] as const) {
      let heard = Promise.withResolvers<string>()
      const stop = await db.listen('chan', (payload) => heard.resolve(payload))
      assert.equal(await heard.promise, '', 'a new connection says so')
      heard = Promise.withResolvers<string>()
      proxy.become(mode)
      proxy.become('pass')
      assert.equal(await heard.promise, '', `after ${mode} it is a new connection`)
      heard = Promise.withResolvers<string>()
      await test.db.query(`select pg_notify('chan', 'hello')`)
      assert.equal(await heard.promise, 'hello')
      await stop()
    }
  })

  it('listening starts once the server does', async () => {
    proxy.become('reset')
    const heard = Promise.withResolvers<string>()
    const stop = await db.listen('chan', (payload) => heard.resolve(payload))
    proxy.become('pass')
    assert.equal(await heard.promise, '')
    await stop()
  })
})

describe('a connection pooler in front of the server', () => {
  let test: TestDatabase
  before(async () => {
    test = await openTestPostgres()
  })
  after(() => test.close())

  const refusal = {
    code: 'DATABASE_URL_UNFIT',
    message: /connection pooler such as PgBouncer.*address of the PostgreSQL server itself/,
  }

  it('is refused by the process id that it makes up, whatever it lends a connection for', async () => {
    // BackendKeyData: the letter, its length, the process id.
    const key = Buffer.from([0x4b, 0, 0, 0, 12])
    const pooler = await startPooler(test.url!, (client, upstream) => {
      client.pipe(upstream)
      upstream.on('data', (part) => {
        const at = part.indexOf(key)
        if (at >= 0) part.writeInt32BE(part.readInt32BE(at + key.length) ^ 0x5bd1, at + key.length)
        client.write(part)
      })
    })
    await assert.rejects(openPostgres({ url: pooler.url }), refusal)
    await pooler.close()
  })

  it('is refused when it does not take the settings of a session', async () => {
    const text = 'SFATAL\0C08P01\0Munsupported startup parameter: options\0\0'
    const head = Buffer.alloc(5, 'E')
    head.writeInt32BE(text.length + 4, 1)
    const pooler = await startPooler(test.url!, (client) =>
      client.once('data', () => client.end(Buffer.concat([head, Buffer.from(text)]))),
    )
    await assert.rejects(openPostgres({ url: pooler.url }), refusal)
    await pooler.close()
  })
})

async function startPooler(url: string, relay: (client: Socket, upstream: Socket) => void) {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const { hostname, port } = new URL(url)
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {})
    }
    relay(client, upstream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = new URL(url)
  own.port = String((server.address() as AddressInfo).port)
  own.hostname = '127.0.0.1'
  return {
    url: own.href,
    close: async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
