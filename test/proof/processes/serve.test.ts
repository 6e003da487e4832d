// The roles as processes: they start, report their address, and stop gracefully on a signal.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { type OutgoingMessage, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { listWorkerIds } from '../../../src/db/state/workers.ts'
import { readMessage } from '../../../src/domain/messages/messages.ts'
import type { JobResult } from '../../../src/worker/jobs/result-cache.ts'
import { plain } from '../../api/contract/fixtures.ts'
import { openEmptyPostgres, openTestPostgres } from '../../kit/databases.ts'
import { start } from '../../kit/processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-serve-'))
after(() => rmSync(folder, { recursive: true }))

interface Ready {
  readonly isReady: boolean
  readonly checks: readonly { readonly name: string }[]
}

describe('matoolkit serve', () => {
  it('migrates, knows its foreign workers, is ready, and stops on SIGTERM', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await using served = start(['serve', '--roles', 'api,orchestrator,scheduler'], {
      DATABASE_URL: test.url!,
      MATOOLKIT_API_PORT: '0',
      MATOOLKIT_API_TOKEN_FILE: join(folder, 'api-token'),
      MATOOLKIT_SOURCE_FOLDER: folder,
      MATOOLKIT_TRANSPORT: 'postgres',
      MATOOLKIT_DECLARED_WORKERS: 'legacy-a, legacy-b',
    })
    const [, url] = await served.saying(/"url":"(http:[^"]+)"/)
    const ready = (await (await fetch(`${url}/api/ready`)).json()) as Ready
    assert.equal(ready.isReady, true)
    assert.deepEqual(
      ready.checks.map(({ name }) => name),
      ['server', 'database', 'schema', 'bus', 'orchestrator', 'clock'],
    )
    assert.deepEqual(await listWorkerIds(test.db), ['legacy-a', 'legacy-b'])
    await previews(url!, join(folder, 'api-token'))
    served.kill('SIGTERM')
    const { code, out, err } = await served.ended
    assert.deepEqual([code, err], [EXIT.ok, ''])
    assert.match(out, /"reason":"SIGTERM"[\s\S]*"msg":"Stopped"/)
  })

  it('finishes a worker’s job and sends its result before it stops', async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const bus = openPostgresBus({ db: test.db, clock: realClock(), newToken: randomUUID })
    await using _bus = { [Symbol.asyncDispose]: () => bus.close() }
    await bus.publish([JOB])
    writeFileSync(join(folder, 'wait.ts'), WAIT_FOR_STOP)
    await using worker = start(['serve', '--roles', 'worker'], {
      DATABASE_URL: test.url!,
      MATOOLKIT_WORKER_ID: 'w1',
      MATOOLKIT_HEALTH_PORT: '0',
      MATOOLKIT_FUNCTIONS_FOLDER: folder,
      MATOOLKIT_SECRETS_FOLDER: join(folder, 'secrets'),
    })
    await worker.saying(/the job is running/)
    worker.kill('SIGTERM')
    const { code, out } = await worker.ended
    assert.equal(code, EXIT.ok, out)
    // The worker has announced itself on the same topic.
    const answer = (await bus.receive(WORKER_RESULTS, 10)).find(
      ({ type }) => type !== 'worker-hello',
    )
    const read = readMessage('worker-result', answer!.body)
    assert.ok(read.ok, answer!.body)
    assert.deepEqual([read.message.status, read.message.result], ['Success', true])
  })

  it('fails the job that left a promise behind, not the worker; ends in order on an exception', async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const bus = openPostgresBus({ db: test.db, clock: realClock(), newToken: randomUUID })
    await using _bus = { [Symbol.asyncDispose]: () => bus.close() }
    const functions = mkdtempSync(join(folder, 'functions-'))
    writeFileSync(join(functions, 'careless.ts'), CARELESS)
    await using worker = start(['serve', '--roles', 'worker'], {
      DATABASE_URL: test.url!,
      MATOOLKIT_WORKER_ID: 'w1',
      MATOOLKIT_HEALTH_PORT: '0',
      MATOOLKIT_FUNCTIONS_FOLDER: functions,
      MATOOLKIT_SECRETS_FOLDER: join(folder, 'secrets'),
    })
    await bus.publish([jobOf('Forget-It'), jobOf('Forget-Late'), jobOf('Wait-Forgotten')])
    await worker.saying(/Forget-It[^\n]*A function left a promise that failed; the job fails/)
    await worker.saying(/Wait-Forgotten[^\n]*A function left a promise that failed; the job fails/)
    await worker.saying(/Forget-Late[^\n]*left a promise that failed; the job had ended before/)
    await bus.publish([jobOf('Throw-Later')])
    const { code, out, err } = await worker.ended
    assert.equal(code, EXIT.crashed, out)
    assert.match(out, /"functionName":"Throw-Later"[^\n]*Unexpected error; the process stops/)
    assert.match(out, /"reason":"unexpected error"[\s\S]*"msg":"Stopped"/)
    assert.doesNotMatch(out + err, /hunter2|ada@/)
    const results = (await bus.receive(WORKER_RESULTS, 10))
      .filter(({ type }) => type !== 'worker-hello')
      .map(({ body }) => {
        const { functionName, status, error } = JSON.parse(body) as JobResult
        return [functionName, status, error?.type, error?.message]
      })
    const why = 'the function started something without waiting for it, and that failed: '
    assert.deepEqual(results.toSorted(), [
      [
        'Forget-It',
        'Failure',
        'UnhandledRejection',
        `${why}password=hunter2 of ada@x.example is weak`,
      ],
      ['Forget-Late', 'Success', undefined, undefined],
      ['Throw-Later', 'Failure', 'UnhandledRejection', `${why}password=hunter2 of ada@x.example`],
      ['Wait-Forgotten', 'Failure', 'UnhandledRejection', `${why}gone`],
    ])
  })

  it('redacts what a crash says, also before a command has begun', async () => {
    for (const crash of ['Promise.reject(error)', '(() => { throw error })()']) {
      const code = `process.once('beforeExit', () => { const error = new Error('password=hunter2 of ada@x.example'); void ${crash} })`
      const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(code)}`
      const ended = await start(['--version'], { NODE_OPTIONS }).ended
      assert.equal(ended.code, EXIT.crashed, ended.err)
      assert.match(
        ended.err,
        /^matoolkit: Unexpected error: password=\[redacted\] of \[address\]\./,
      )
      assert.doesNotMatch(ended.err, /hunter2 of|ada@/)
    }
  })

  it('refuses a heap that is too small for its roles, before it opens anything', async () => {
    const env = {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/away',
      NODE_OPTIONS: '--max-old-space-size=100',
    }
    const small = await start(['serve', '--roles', 'scheduler,orchestrator'], env).ended
    assert.equal(small.code, EXIT.unavailable)
    assert.match(
      small.err,
      /can grow to \d+ MB, and its roles \(scheduler, orchestrator\) need 272 MB.*--max-old-space-size=272.*\(MEMORY_TOO_SMALL\)/s,
    )
    assert.doesNotMatch(`${small.out}${small.err}`, /Started|ECONNREFUSED|waits for the database/)
  })

  it('refuses unknown roles, and an exposed API without sign-in', async () => {
    const roles = await start(['serve', '--roles', 'api,wroker']).ended
    assert.equal(roles.code, EXIT.usage)
    assert.match(roles.err, /--roles is "api,wroker", but must be a list of/)
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const env = { DATABASE_URL: test.url!, MATOOLKIT_API_HOST: '0.0.0.0' }
    const exposed = await start(['serve', '--roles', 'api'], env).ended
    assert.match(exposed.err, /\(API_EXPOSED\)/)
    assert.equal(exposed.code, EXIT.usage)
  })
})

describe('two serve processes with one token file', () => {
  it('share its token until the last one ends; a third on a taken port leaves it alone', async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const cwd = mkdtempSync(join(folder, 'shared-'))
    const tokenFile = join(cwd, 'private', 'api-token')
    const env = {
      DATABASE_URL: test.url!,
      MATOOLKIT_API_TOKEN_FILE: tokenFile,
      MATOOLKIT_HOME: join(cwd, 'home'),
    }
    const serve = (port: string) =>
      start(['serve', '--roles', 'api'], { ...env, MATOOLKIT_API_PORT: port }, cwd)
    await using first = serve('0')
    await using second = serve('0')
    const urls: string[] = []
    for (const one of [first, second]) {
      const [, url] = await one.saying(/"url":"(http:[^"]+)"/)
      urls.push(url!)
    }
    const token = readFileSync(tokenFile, 'utf8')
    const asked = (url: string) =>
      start(['batch', 'list'], { ...env, MATOOLKIT_API_URL: url, MATOOLKIT_TOKEN: token }, cwd)
        .ended
    for (const url of urls) assert.equal((await asked(url)).code, EXIT.ok)

    const third = await serve(new URL(urls[0]!).port).ended
    assert.notEqual(third.code, EXIT.ok)
    assert.match(third.err, /\((ADDRESS|PORT)_UNUSABLE\)/)
    assert.equal(readFileSync(tokenFile, 'utf8'), token, 'the third took nothing away')

    first.kill('SIGKILL')
    await first.ended
    assert.equal(readFileSync(tokenFile, 'utf8'), token, 'the second still needs it')
    assert.equal((await asked(urls[1]!)).code, EXIT.ok)
    assert.equal((await asked(urls[0]!)).code, EXIT.unavailable)
    second.kill('SIGTERM')
    assert.equal((await second.ended).code, EXIT.ok)
    assert.equal(existsSync(tokenFile), false, 'the last one removes it')
  })
})

describe('matoolkit up', () => {
  it('runs all roles in the current folder, and finds its data again', async () => {
    const cwd = mkdtempSync(join(folder, 'up-'))
    const env = { MATOOLKIT_API_PORT: '0', MATOOLKIT_HOME: join(cwd, 'home') }
    const tokens = new Set<string>()
    for (const _ of ['first', 'second']) {
      await using up = start(['up', '--sandbox'], env, cwd)
      const [, url] = await up.saying(/matoolkit is up: (\S+)/)
      const token = readFileSync(join(cwd, '.matoolkit/api-token'), 'utf8')
      tokens.add(token)
      const me = await fetch(`${url}/api/me`, { headers: { authorization: `Bearer ${token}` } })
      assert.equal(me.status, 200)
      await up.saying(/"contoso-worker"[^\n]*"msg":"Worker ready"/)
      up.kill('SIGINT')
      assert.equal((await up.ended).code, EXIT.ok)
      assert.equal(existsSync(join(cwd, '.matoolkit/api-token')), false)
    }
    assert.equal(tokens.size, 2, 'each start has a token of its own')
    if (process.platform === 'win32') return
    const written = readdirSync(cwd, { recursive: true, encoding: 'utf8' })
    assert.ok(written.length > 1_000)
    const isOpen = (name: string) => (statSync(join(cwd, name)).mode & 0o077) !== 0
    assert.deepEqual(written.filter(isOpen), [], 'no file or folder is for others')
  })
})

/** The API queries the scheduler's sources: publishes a runbook and previews its query. */
async function previews(url: string, tokenFile: string): Promise<void> {
  writeFileSync(join(folder, 'people.csv'), PEOPLE)
  writeFileSync(join(folder, 'plain.yaml'), plain())
  const token = readFileSync(tokenFile, 'utf8')
  const env = { MATOOLKIT_API_URL: url, MATOOLKIT_TOKEN: token, MATOOLKIT_OUTPUT: 'table' }
  const published = await start(['runbook', 'publish', join(folder, 'plain.yaml')], env).ended
  assert.equal(published.code, EXIT.ok, published.err)
  const { code, out, err } = await start(['query', 'preview', 'plain'], env).ended
  assert.equal(code, EXIT.ok, err)
  assert.match(out, /^3 rows in \d+\.\d s, 1 with problems\.\n/)
  assert.match(out, /\nBatches\nSTART +MEMBERS\n\w+ 01 Mar 2090 20:00 \w+ +2\n/)
  assert.match(out, /\nProblems\nMEMBER +COLUMN +PROBLEM\ncy@x\.example +When +/)
  assert.match(out, /\nWhat the next tick would do\nWHAT +HOW MANY\nnew batches +1\n/)
  const json = await start(['query', 'preview', 'plain', '-o', 'json'], env).ended
  assert.equal((JSON.parse(json.out) as { rowCount: number }).rowCount, 3)
  const piped = await start(['query', 'preview', 'plain'], { ...env, MATOOLKIT_OUTPUT: '' }).ended
  assert.equal((JSON.parse(piped.out) as { rowCount: number }).rowCount, 3)
  const csv = await start(['query', 'preview', 'plain', '-o', 'csv'], env).ended
  assert.match(csv.out, /^UserPrincipalName,When\r\nada@x\.example,/)
  const yaml = await start(['query', 'preview', 'plain', '-o', 'yaml'], env).ended
  assert.match(yaml.out, /^rowCount: 3\n/)
}

const PEOPLE = `UserPrincipalName,When
ada@x.example,2090-03-01T20:00:00Z
bob@x.example,2090-03-01T20:00:00Z
cy@x.example,soon
`

const JOB = {
  topic: 'worker-jobs',
  messageId: 'j1',
  type: 'worker-job',
  workerId: 'w1',
  body: {
    jobId: 'j1',
    batchId: 7,
    workerId: 'w1',
    functionName: 'Wait-Stop',
    parameters: {},
    correlationData: {
      stepExecutionId: 3,
      isInitStep: false,
      runbookName: 'contoso',
      runbookVersion: 2,
    },
    timeoutSec: 3_600,
    notAfter: '2100-01-01T00:00:00Z',
  },
} as const satisfies OutgoingMessage

const jobOf = (functionName: string): OutgoingMessage => ({
  ...JOB,
  messageId: functionName,
  body: { ...JOB.body, jobId: functionName, functionName },
})

/** Promises and timers that nobody waits for. */
const CARELESS = `
export default ({ defineFunction, z }) => {
  const define = (name, run) => defineFunction({
    name, description: '', parameters: z.strictObject({}), result: z.boolean(), permissions: {},
    isIdempotent: true, undo: null, run,
  })
  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const fail = async (ms, message) => {
    if (ms > 0) await later(ms)
    throw new Error(message)
  }
  return [
    define('Forget-It', async () => {
      void fail(0, 'password=hunter2 of ada@x.example is weak')
      return true
    }),
    define('Forget-Late', async () => {
      void fail(500, 'of ada@x.example')
      return true
    }),
    define('Wait-Forgotten', ({ signal }) => new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      void fail(50, 'gone')
    })),
    define('Throw-Later', async ({ signal }) => {
      setTimeout(() => { throw new Error('password=hunter2 of ada@x.example') }, 20)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return true
    }),
  ]
}
`

const WAIT_FOR_STOP = `
export default ({ defineFunction, z }) => [
  defineFunction({
    name: 'Wait-Stop',
    description: 'Ends when the process is asked to stop.',
    parameters: z.strictObject({}),
    result: z.boolean(),
    permissions: {},
    isIdempotent: true,
    undo: null,
    run: () =>
      new Promise((resolve) => {
        process.once('SIGTERM', () => resolve(true))
        console.log('the job is running')
      }),
  }),
]
`
