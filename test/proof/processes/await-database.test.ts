// A start while the database server is away: it waits, says so at intervals, answers "not ready", and starts by itself.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AwaitOptions, awaitDatabase } from '../../../src/app/upkeep/await-database.ts'
import { EXIT, MatoolkitError } from '../../../src/base/errors/errors.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { openRole } from '../../kit/database-roles.ts'
import { openEmptyPostgres, openTestPostgres } from '../../kit/databases.ts'
import { freePort } from '../../kit/postgres-server.ts'
import { start } from '../../kit/processes.ts'
import { startProxy } from '../chaos/proxy.ts'

const failing = (code: string) =>
  new MatoolkitError(
    'DATABASE_UNREACHABLE',
    { reason: code },
    { cause: Object.assign(new Error(code), { code }) },
  )

function configOf(env: Record<string, string>): Config {
  const read = readConfig(env)
  assert.ok('config' in read)
  return read.config
}

function waiting(env: Record<string, string> = { DATABASE_URL: 'postgres://db/x' }) {
  const clock = virtualClock(new Date('2026-03-01T10:00:00Z'))
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(JSON.parse(line).msg as string) }
  const log = createLog({ level: 'info', format: 'json', clock, destination })
  const stopping = new AbortController()
  const config = configOf({ MATOOLKIT_HEALTH_PORT: '0', ...env })
  const options: AwaitOptions = {
    config,
    roles: ['scheduler'],
    clock,
    log,
    stopping: stopping.signal,
  }
  return { clock, lines, stopping, options }
}

const WAITS = 'Waiting to start: the database does not answer. It starts on its own'

describe('a start without the database server', () => {
  it('waits, says so at once and every minute, and starts when the server is there', async () => {
    const { clock, lines, options } = waiting()
    let isThere = false
    let tries = 0
    const opened = awaitDatabase(options, async () => {
      tries += 1
      if (!isThere) throw failing('ECONNREFUSED')
      return 'open'
    })
    await clock.advance(59_000)
    assert.deepEqual(lines, [WAITS])
    await clock.advance(90_000)
    assert.deepEqual(lines, [WAITS, WAITS, WAITS])
    assert.ok(tries < 40, `${tries} tries`)
    isThere = true
    await clock.advance(10_000)
    assert.equal(await opened, 'open')
    assert.deepEqual(lines.slice(3), ['The database is there; starting'])
  })

  it('waits for a server that is starting', async () => {
    const { clock, lines, options } = waiting()
    let code = '57P03'
    const opened = awaitDatabase(options, async () => {
      if (code !== '') throw failing(code)
    })
    await clock.advance(1_000)
    assert.match(lines[0]!, /the database is starting/)
    code = ''
    await clock.advance(10_000)
    await opened
  })

  for (const code of ['28P01', '28000', '3D000', 'SELF_SIGNED_CERT_IN_CHAIN']) {
    it(`ends at once with ${code}: waiting cures nothing`, async () => {
      const { lines, options } = waiting()
      await assert.rejects(
        awaitDatabase(options, async () => {
          throw failing(code)
        }),
        { code: 'DATABASE_UNREACHABLE', exitCode: EXIT.unavailable },
      )
      assert.deepEqual(lines, [])
    })
  }

  for (const code of ['28P01', '28000']) {
    it(`waits for the role of its identity (${code}), which the first deployment makes later`, async () => {
      const { clock, lines, options } = waiting({
        DATABASE_URL: 'postgres://api@db/x',
        MATOOLKIT_DATABASE_SIGN_IN: 'identity',
      })
      let hasRole = false
      const opened = awaitDatabase(options, async () => {
        if (!hasRole) throw failing(code)
      })
      await clock.advance(70_000)
      const line =
        'Waiting to start: the database refuses the identity of this process; "matoolkit db grant --migrate" (on Azure the job migrate) makes its role. It starts on its own'
      assert.deepEqual(lines, [line, line])
      hasRole = true
      await clock.advance(10_000)
      await opened
      assert.deepEqual(lines.slice(2), ['The database is there; starting'])
    })
  }

  for (const code of ['42P01', '42703', '42883']) {
    it(`ends at once when the schema lacks something (${code}): nobody adds it`, async () => {
      const { lines, options } = waiting()
      const lacks = Object.assign(new Error('column "lowest_program" does not exist'), { code })
      await assert.rejects(
        awaitDatabase(options, () => Promise.reject(lacks)),
        {
          code: 'SCHEMA_INCOMPLETE',
          exitCode: EXIT.unavailable,
          message: /column "lowest_program" does not exist/,
        },
      )
      assert.deepEqual(lines, [])
    })
  }

  it('waits for a right that an administrator may still grant', async () => {
    const { clock, lines, stopping, options } = waiting()
    const denied = Object.assign(new Error('permission denied'), { code: '42501' })
    const opened = awaitDatabase(options, () => Promise.reject(denied))
    await clock.advance(1_000)
    assert.match(lines[0]!, /Waiting to start: the database role lacks a right/)
    stopping.abort()
    await assert.rejects(opened, { code: '42501' })
  })

  it('ends with its last error when it is asked to stop', async () => {
    const { clock, stopping, options } = waiting()
    const opened = awaitDatabase(options, async () => {
      throw failing('ECONNREFUSED')
    })
    await clock.advance(5_000)
    stopping.abort()
    await assert.rejects(opened, { code: 'DATABASE_UNREACHABLE' })
  })

  it('never waits for an embedded database', async () => {
    const { options } = waiting({})
    const full = new MatoolkitError('DATABASE_DISK_FULL', { folder: '/data', reason: 'full' })
    const opened = awaitDatabase(options, async () => {
      throw full
    })
    await assert.rejects(opened, { code: 'DATABASE_DISK_FULL' })
  })
})

describe('matoolkit serve without its database server', () => {
  it('is alive and not ready, starts when the server is there, and is not fooled by an unknown database', async () => {
    const test = await openTestPostgres()
    const real = new URL(test.url!)
    const proxy = await startProxy(Number(real.port))
    const port = await freePort()
    const away = new URL(real)
    away.port = String(proxy.port)
    const settings = { MATOOLKIT_API_PORT: String(port), MATOOLKIT_API_TOKEN_FILE: '' }
    proxy.become('reset')
    const served = start(['serve', '--roles', 'api,scheduler'], {
      ...settings,
      DATABASE_URL: String(away),
    })
    try {
      await served.saying(/Waiting to start: the database does not answer/)
      const at = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
      // The endpoints open right after the line.
      let ready = await at('/api/ready').catch(() => null)
      while (!ready) ready = await at('/api/ready').catch(() => null)
      assert.equal(ready.status, 503)
      assert.deepEqual(await ready.json(), {
        isReady: false,
        isDegraded: false,
        checks: [{ name: 'database', isOk: false, about: 'waits: the database does not answer' }],
      })
      assert.equal((await at('/api/health')).status, 200)
      proxy.become('pass')
      await served.saying(/"msg":"Started"/)
      assert.equal((await at('/api/ready')).status, 200)
    } finally {
      served.kill('SIGTERM')
    }
    assert.equal((await served.ended).code, EXIT.ok)

    away.pathname = '/no-such-database'
    const unknown = await start(['serve', '--roles', 'scheduler'], { DATABASE_URL: String(away) })
      .ended
    assert.equal(unknown.code, EXIT.unavailable)
    assert.match(unknown.err, /no-such-database.*DATABASE_UNREACHABLE/)

    proxy.become('reset')
    away.pathname = real.pathname
    const stopped = start(['serve', '--roles', 'scheduler'], { DATABASE_URL: String(away) })
    await stopped.saying(/Waiting to start/)
    stopped.kill('SIGTERM')
    assert.equal((await stopped.ended).code, EXIT.ok, 'asked to stop')
    await proxy.close()
    await test.close()
  })

  it('is alive and says why it is not ready while nobody has made its tables, and ends when it is asked to', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await using app = await openRole(test, 'app')
    const port = await freePort()
    const served = start(['serve', '--roles', 'scheduler'], {
      DATABASE_URL: app.url,
      MATOOLKIT_HEALTH_PORT: String(port),
    })
    await served.saying(/Waiting for it/)
    const at = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    assert.equal((await at('/health')).status, 200)
    const ready = await at('/ready')
    assert.equal(ready.status, 503)
    assert.match(((await ready.json()) as { status: string }).status, /matoolkit db/)
    served.kill('SIGTERM')
    assert.equal((await served.ended).code, EXIT.ok)
  })
})
