// Signing in to a real PostgreSQL server that asks for a password in clear text, as Azure's does: the password is the token of the
// machine's identity, new ones for new connections, and it goes to no server that cannot prove who it is.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { databaseAccess } from '../../../src/app/upkeep/database-sign-in.ts'
import { outageOf } from '../../../src/base/errors/transient.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import {
  identityOf,
  startTokenServer,
  type TokenServer,
} from '../../scheduler/sources/token-server.ts'

const ROLE = 'matoolkit-identity'

function configOf(databaseUrl: string, env: Record<string, string> = {}) {
  const read = readConfig({ MATOOLKIT_DATABASE_SIGN_IN: 'identity', ...env })
  assert.ok('config' in read, JSON.stringify(read))
  return { ...read.config, databaseUrl } as Config & { databaseUrl: string }
}

describe('signing in to PostgreSQL as the machine', () => {
  let test: TestDatabase
  let tokens: TokenServer
  let url: string
  before(async () => {
    test = await openTestPostgres()
    // The server trusts this machine. This role alone must give its password.
    const [hba] = await test.db.query<{ hbaFile: string }>('show hba_file')
    const rules = readFileSync(hba!.hbaFile, 'utf8')
    if (!rules.includes(ROLE))
      writeFileSync(hba!.hbaFile, `host all "${ROLE}" 127.0.0.1/32 password\n${rules}`)
    await test.db.script('select pg_reload_conf()')
    const named = new URL(test.url!)
    named.username = ROLE
    url = named.href
  })
  after(async () => {
    await test.db.script(`drop role "${ROLE}"`)
    await test.close()
  })
  beforeEach(async () => {
    tokens = await startTokenServer()
  })
  afterEach(() => tokens.close())

  const accepts = (token: string) =>
    test.db.script(
      `do $$ begin if not exists (select from pg_roles where rolname = '${ROLE}') then create role "${ROLE}" login; end if; end $$;
       alter role "${ROLE}" password '${token}'`,
    )
  const at = () => virtualClock(new Date('2026-01-01T00:00:00Z'))
  const open = (clock = at(), more: Record<string, string> = {}) => {
    const { url: endpoint, header } = identityOf(tokens).identity!
    const env = { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header, ...more }
    return openPostgres(databaseAccess(configOf(url, env), clock))
  }

  it('connects and listens with a token for the database of its cloud', async () => {
    await accepts('token-1')
    const db = await open()
    await using _ = { [Symbol.asyncDispose]: () => db.close() }
    assert.deepEqual(await db.query('select current_user as role'), [{ role: ROLE }])
    const heard = Promise.withResolvers<void>()
    const stop = await db.listen!('anything', () => heard.resolve())
    await heard.promise
    await stop()
    assert.deepEqual(tokens.asked, [
      'identity own https://ossrdbms-aad.database.windows.net 2019-08-01',
    ])
  })

  it('gets a new token for a new connection once the old one has ended, and keeps the connections it has', async () => {
    await accepts('token-1')
    const clock = at()
    const db = await open(clock, { MATOOLKIT_CLOUD: 'usgov' })
    await using _ = { [Symbol.asyncDispose]: () => db.close() }
    await accepts('token-2')
    await clock.advance(3_600_000)
    const roles = await db.transaction(async (tx) => [
      ...(await tx.query('select current_user as role')),
      ...(await db.query('select current_user as role')),
    ])
    assert.deepEqual(roles, [{ role: ROLE }, { role: ROLE }])
    const asked = 'identity own https://ossrdbms-aad.database.usgovcloudapi.net 2019-08-01'
    assert.deepEqual(tokens.asked, [asked, asked])
  })

  it('is refused by the server with another token', async () => {
    await accepts('token-of-somebody-else')
    await assert.rejects(open(), ({ code, cause }: Error & { code: string }) => {
      assert.deepEqual([code, outageOf(cause)], ['DATABASE_UNREACHABLE', null])
      return true
    })
  })

  it('waits for an identity service that does not answer, and not for one that refuses', async () => {
    const causeOf = async (status: number) => {
      tokens.fault = { status, body: '{"error":"x"}' }
      const error = await open().then(
        () => assert.fail('it signed in'),
        (thrown: unknown) => thrown,
      )
      return outageOf((error as Error).cause)
    }
    assert.equal(await causeOf(503), 'the identity of this process gets no token for the database')
    assert.equal(await causeOf(400), null)
    // Nobody is left behind who still owes the server a password.
    const waiting = `select pid from pg_stat_activity where usename is null and backend_type = 'client backend'`
    while ((await test.db.query(waiting)).length > 0) await new Promise(setImmediate)
  })
})

describe('DATABASE_URL for an identity', () => {
  const accessTo = (address: string) => databaseAccess(configOf(address), virtualClock(new Date()))
  it('names no password, and a server that must prove who it is', () => {
    for (const [address, reason] of [
      ['postgres://app:pw@db.example/x', /has a password/],
      ['postgres://db.example/x', /names no user/],
      ['postgres://app@db.example/x?sslmode=no-verify', /has sslmode=no-verify/],
      ['postgres://app@db.example/x?sslmode=disable', /needs sslmode=verify-full/],
    ] as const)
      assert.throws(() => accessTo(address), { code: 'DATABASE_URL_UNFIT', message: reason })
    assert.equal(
      accessTo('postgres://app@db.example/x').url,
      'postgres://app@db.example/x?sslmode=verify-full',
    )
    const local = 'postgres://app@127.0.0.1/x'
    assert.equal(accessTo(local).url, local)
  })

  it('stays as it is with a password', () => {
    const config = configOf('postgres://app:pw@db.example/x', {
      MATOOLKIT_DATABASE_SIGN_IN: 'password',
    })
    assert.deepEqual(databaseAccess(config, virtualClock(new Date())), { url: config.databaseUrl })
  })
})
