// compose.yaml without a container engine: each service's command and settings start the program, on a real PostgreSQL and with the
// same sandbox, and the parts find each other.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { openEmptyPostgres } from '../../kit/databases.ts'
import { ROOT, start } from '../../kit/processes.ts'

interface Service {
  readonly command?: readonly string[]
  readonly image?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly network_mode?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly ports?: readonly string[]
}
const { services } = parse(readFileSync(join(ROOT, 'compose.yaml'), 'utf8'), { merge: true }) as {
  services: Readonly<Record<string, Service>>
}
const ours = Object.entries(services).filter(([, { image }]) => image === 'matoolkit')

describe('compose.yaml', () => {
  it('publishes no port, runs every role read-only and without rights, and pins the database', () => {
    assert.deepEqual(
      ours.map(([name]) => name),
      [
        'migrate',
        'scheduler',
        'orchestrator',
        'api',
        'sandbox',
        'fabrikam-worker',
        'contoso-worker',
      ],
    )
    for (const [name, { read_only, cap_drop }] of ours)
      assert.deepEqual([read_only, cap_drop], [true, ['ALL']], name)
    for (const [name, { ports }] of Object.entries(services)) assert.equal(ports, undefined, name)
    assert.match(services.postgres!.image!, /^postgres:18[\w-]*@sha256:[0-9a-f]{64}$/)
  })

  it('starts: tables, scheduler, orchestrator, API, sandbox, and both workers, which the API knows', async () => {
    const test = await openEmptyPostgres()
    const folder = await mkdtemp(join(tmpdir(), 'matoolkit-compose-'))
    const jobKey = randomBytes(32).toString('base64')
    const own = {
      MATOOLKIT_HOME: join(folder, 'home'),
      MATOOLKIT_API_PORT: '0',
      MATOOLKIT_API_TOKEN_FILE: join(folder, 'api-token'),
    }
    let sandboxUrl = ''
    const run = (name: string) => {
      const { command = [], environment = {} } = services[name]!
      const env = Object.entries(environment).map(([key, value]) => [
        key,
        value
          .replace(/^postgres:.*/, test.url!)
          .replace(/^\$\{MATOOLKIT_JOB_KEY:.*/, jobKey)
          .replace('http://127.0.0.1:4365', sandboxUrl)
          .replace('/sources', join(ROOT, 'examples')),
      ])
      const args = command.map((arg) => arg.replace('/sources', join(ROOT, 'examples')))
      const vault = { MATOOLKIT_SECRETS_FOLDER: join(folder, name) }
      const noPort = { MATOOLKIT_HEALTH_PORT: '0' }
      const more = name === 'sandbox' ? ['--port', '0'] : []
      return start([...args, ...more], { ...own, ...vault, ...Object.fromEntries(env), ...noPort })
    }
    try {
      const migrated = await run('migrate').ended
      assert.equal(migrated.code, EXIT.ok, migrated.err)
      await using sandbox = run('sandbox')
      sandboxUrl = (await sandbox.saying(/listens on (http:\/\/127\.0\.0\.1:\d+)/))[1]!
      await using scheduler = run('scheduler')
      await using orchestrator = run('orchestrator')
      await using api = run('api')
      await using fabrikam = run('fabrikam-worker')
      await using contoso = run('contoso-worker')
      for (const one of [scheduler, orchestrator]) await one.saying(/"msg":"Started"/)
      const url = (await api.saying(/"url":"(http:[^"]+)"/))[1]!
      for (const worker of [fabrikam, contoso]) await worker.saying(/Signed in to the tenant/)
      for (const worker of [fabrikam, contoso]) await worker.saying(/"msg":"Started"/)
      const token = readFileSync(own.MATOOLKIT_API_TOKEN_FILE, 'utf8').trim()
      const known = async () => {
        const args = ['worker', 'list', '--output', 'json', '--api-url', url]
        const { out, err } = await start(args, { ...own, MATOOLKIT_TOKEN: token }).ended
        assert.equal(err, '')
        return (JSON.parse(out) as { workers: { workerId: string }[] }).workers.map(
          ({ workerId }) => workerId,
        )
      }
      // The orchestrator reads their hellos within seconds.
      let workers = await known()
      for (let tries = 0; workers.length < 2 && tries < 20; tries++) workers = await known()
      assert.deepEqual(workers.toSorted(), ['contoso-worker', 'fabrikam-worker'])
    } finally {
      await test.close()
      await rm(folder, { recursive: true })
    }
  })
})
