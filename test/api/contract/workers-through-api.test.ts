// Workers that come through the API: their credentials, and their calls. What one worker must not do with the jobs of another is here, too.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newWorkerToken, WORKER_ASSERTION_TYPE } from '../../../src/base/keys/worker-token.ts'
import { assertionOf, readCertificate } from '../../../src/base/sign-in/certificate.ts'
import { WORKER_RESULTS, workerJobs } from '../../../src/bus/bus.ts'
import { LIVE_MAX } from '../../../src/db/orders/worker-credentials.ts'
import { job } from '../../bus/under-test.ts'
import { rsaCertificate } from '../../kit/rsa-certificate.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { newAssertionOf, newTokenOf } from '../worker-credentials.ts'
import { covers } from './covers.ts'

interface Shown {
  readonly id: string
  readonly state: string
  readonly kind: string
  readonly endsAt: string
  readonly lastUsedAt: string | null
}

interface Taken {
  readonly jobs: {
    readonly messageId: string
    readonly body: string
    readonly lease: { readonly sequence: string; readonly token: string }
  }[]
}

const HOUR = 3_600_000
const REASON = { reason: 'for the test' }
const pathOf = (workerId: string, id: string, verb: string) =>
  `/api/workers/${workerId}/credentials/${id}/${verb}`

let api: ApiUnderTest
const use = () => {
  before(async () => {
    api = await openApiUnderTest()
  })
  after(() => api.close())
}
const list = async (query = '') =>
  (
    await api.call<{ credentials: Shown[]; next: string | null; total: number }>(
      'GET',
      `/api/worker-credentials${query}`,
    )
  ).body
const me = (token: string) => api.call('GET', '/api/worker', { token })
const take = async (workerId: string, token: string, limit = 10) =>
  (await api.call<Taken>('POST', '/api/worker/jobs/take', { token, body: { workerId, limit } }))
    .body.jobs
const auditOf = async (action: string) =>
  api.world.db.query<{ subject: string; after_json: object; text: string }>(
    'select subject, after_json, to_jsonb(a)::text as text from audit a where action = $1 order by id',
    [action],
  )

function credentials(): void {
  describe('credentials of workers', () => {
    use()

    it('are made, shown once, stored as a hash, and say whose they are', async () => {
      const { id, token } = await newTokenOf(api, 'w1')
      assert.match(token, /^mtkw_[0-9a-f]{16}_[\w-]{43}$/)
      const { status, body } = await me(token)
      assert.equal(status, 200)
      assert.deepEqual([body.workerId, body.credentialId, body.kind], ['w1', id, 'token'])
      // It may contain "_" itself: of a secret that began so, nothing was left to look for.
      const secret = token.split('_').slice(2).join('_')
      const rows = await api.world.db.query<{ text: string }>(
        `select to_jsonb(c)::text as text from worker_credentials c union all select to_jsonb(k)::text from idempotency_keys k`,
      )
      const audit = await auditOf('worker.credential_create')
      for (const { text } of [...rows, ...audit]) assert.ok(!text.includes(secret))
      assert.ok(!api.lines.join('').includes(secret))
      assert.equal(audit.at(-1)!.subject, 'worker w1')
    })

    it('are listed page by page, with their last use', async () => {
      const { id, token } = await newTokenOf(api, 'w2')
      await newTokenOf(api, 'w2')
      assert.equal((await list('?workerId=w2')).credentials[0]!.lastUsedAt, null)
      await me(token)
      const first = await list('?workerId=w2&limit=1')
      const rest = await list(`?workerId=w2&limit=1&cursor=${first.next}`)
      const both = [...first.credentials, ...rest.credentials]
      assert.equal(both.length, 2)
      assert.equal(rest.next, null)
      assert.ok(both.find((one) => one.id === id)!.lastUsedAt)
      await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/worker-credentials?cursor=x')
    })

    it('rotate with an overlap, after which the old one is refused', async () => {
      const old = await newTokenOf(api, 'w3')
      const rotated = await api.call<{ token: string; replaced: Shown }>(
        'POST',
        pathOf('w3', old.id, 'rotate'),
        { body: { overlapHours: 2 } },
      )
      assert.equal(rotated.status, 201)
      const { token, replaced } = rotated.body
      assert.equal(+new Date(replaced.endsAt), +api.world.clock.now() + 2 * HOUR)
      for (const good of [old.token, token]) assert.equal((await me(good)).status, 200)
      await api.world.clock.advance(2 * HOUR)
      await api.refused(401, 'TOKEN_REFUSED', 'GET', '/api/worker', { token: old.token })
      assert.equal((await me(token)).status, 200)
      await api.refused(409, 'WORKER_CREDENTIAL_ENDED', 'POST', pathOf('w3', old.id, 'rotate'), {
        body: {},
      })
      assert.equal((await auditOf('worker.credential_rotate')).length, 1)
    })

    it('are revoked at once, and only with a reason', async () => {
      const { id, token } = await newTokenOf(api, 'w4')
      await api.refused(400, 'REQUEST_INVALID', 'POST', pathOf('w4', id, 'revoke'), { body: {} })
      assert.equal((await me(token)).status, 200)
      for (let time = 0; time < 2; time += 1) {
        const { body } = await api.call<{ credential: Shown }>('POST', pathOf('w4', id, 'revoke'), {
          body: REASON,
        })
        assert.equal(body.credential.state, 'revoked')
      }
      assert.equal((await auditOf('worker.credential_revoke')).length, 1, 'the second did nothing')
      const refused = await api.refused(401, 'TOKEN_REFUSED', 'GET', '/api/worker', { token })
      assert.match(refused.body.detail, /was revoked/)
    })

    it('that are unknown, of another worker, or too many are refused', async () => {
      const { id } = await newTokenOf(api, 'w5')
      for (const [workerId, one] of [
        ['w6', id],
        ['w5', '0'.repeat(16)],
      ] as const)
        for (const verb of ['rotate', 'revoke'])
          await api.refused(
            404,
            'WORKER_CREDENTIAL_NOT_FOUND',
            'POST',
            pathOf(workerId, one, verb),
            { body: REASON },
          )
      for (let made = 1; made < LIVE_MAX; made += 1) await newTokenOf(api, 'w5')
      const create = ['POST', '/api/workers/w5/credentials', { body: {} }] as const
      await api.refused(409, 'WORKER_CREDENTIALS_FULL', ...create)
      const rotate = ['POST', pathOf('w5', id, 'rotate'), { body: {} }] as const
      await api.refused(409, 'WORKER_CREDENTIALS_FULL', ...rotate)
    })

    it('by certificate prove a worker by what it signs for this address, for a short time', async () => {
      const assertion = await newAssertionOf(api, 'w7')
      const { body } = await me(assertion)
      assert.deepEqual([body.workerId, body.kind], ['w7', 'certificate'])
      await api.world.clock.advance(12 * 60_000)
      await api.refused(401, 'TOKEN_REFUSED', 'GET', '/api/worker', { token: assertion })
    })

    it('by certificate accept nothing that was signed otherwise', async () => {
      const { keyPem, certPem } = rsaCertificate()
      const body = { certificate: certPem, address: `${api.url}/somewhere` }
      const made = await api.call<{ credential: Shown }>('POST', '/api/workers/w8/credentials', {
        body,
      })
      const now = api.world.clock.now()
      const own = await readCertificate({ bytes: Buffer.from(keyPem + certPem), password: '' })
      const strange = rsaCertificate()
      const bytes = Buffer.from(strange.keyPem + strange.certPem)
      const other = await readCertificate({ bytes, password: '' })
      const good = { clientId: 'w8', audience: api.url, now, type: WORKER_ASSERTION_TYPE }
      assert.equal((await me(await assertionOf(own, good))).status, 200)
      const bad: [string, Promise<string>][] = [
        ['another worker', assertionOf(own, { ...good, clientId: 'w1' })],
        ['another address', assertionOf(own, { ...good, audience: 'https://elsewhere.example' })],
        ['the type of an issuer’s token', assertionOf(own, { ...good, type: 'JWT' })],
        [
          'another key under our thumbprint',
          assertionOf({ ...other, thumbprint: own.thumbprint }, good),
        ],
        ['an unknown certificate', assertionOf(other, good)],
        ['yesterday', assertionOf(own, { ...good, now: new Date(+now - 24 * HOUR) })],
        ['tomorrow', assertionOf(own, { ...good, now: new Date(+now + 24 * HOUR) })],
      ]
      for (const [what, token] of bad) assert.equal((await me(await token)).status, 401, what)
      await api.call('POST', pathOf('w8', made.body.credential.id, 'revoke'), { body: REASON })
      assert.equal((await me(await assertionOf(own, good))).status, 401, 'revoked')
    })

    it('refuse certificates that cannot serve, and take each once', async () => {
      const { keyPem, certPem } = rsaCertificate()
      const address = 'https://matoolkit.contoso.example'
      const create = (body: object) => ['POST', '/api/workers/w9/credentials', { body }] as const
      await api.refused(400, 'WORKER_CERTIFICATE_UNFIT', ...create({ certificate: certPem }))
      await api.refused(400, 'WORKER_CERTIFICATE_UNFIT', ...create({ certificate: 'x', address }))
      const withKey = { certificate: certPem + keyPem, address }
      await api.refused(400, 'WORKER_CERTIFICATE_UNFIT', ...create(withKey))
      const open = { certificate: certPem, address: 'http://matoolkit.contoso.example' }
      await api.refused(400, 'REQUEST_INVALID', ...create(open))
      const { body } = await api.call<{ credential: Shown }>(
        ...create({ certificate: certPem, address }),
      )
      await api.refused(
        409,
        'WORKER_CERTIFICATE_TAKEN',
        ...create({ certificate: certPem, address }),
      )
      const rotate = (given: object) =>
        ['POST', pathOf('w9', body.credential.id, 'rotate'), { body: given }] as const
      await api.refused(409, 'WORKER_CERTIFICATE_TAKEN', ...rotate({ certificate: certPem }))
      await api.refused(400, 'WORKER_CERTIFICATE_UNFIT', ...rotate({ certificate: 'x' }))
      const renewed = await api.call(...rotate({ certificate: rsaCertificate().certPem }))
      assert.equal(renewed.status, 201)
    })

    it('that nobody made are refused', async () => {
      const { id } = await newTokenOf(api, 'w1')
      const tokens = [newWorkerToken(id), newWorkerToken('0'.repeat(16)), { token: 'mtkw_' }]
      for (const { token } of tokens)
        await api.refused(401, 'TOKEN_REFUSED', 'GET', '/api/worker', { token })
    })
  })
}

function calls(): void {
  describe('calls of a worker', () => {
    use()
    let [one, two] = ['', '']
    before(async () => {
      one = (await newTokenOf(api, 'w1')).token
      two = (await newTokenOf(api, 'w2')).token
    })
    const post = <Body>(path: string, token: string, body: object) =>
      api.call<Body>('POST', `/api/worker/${path}`, { token, body })

    it('take, renew and end its own jobs', async () => {
      const sent = job('w1')
      await api.world.bus.publish([sent, job('w2')])
      const [taken, ...more] = await take('w1', one)
      assert.deepEqual([taken!.messageId, more], [sent.messageId, []])
      assert.deepEqual(JSON.parse(taken!.body), sent.body)
      const leases = [taken!.lease]
      const kept = await post<{ lost: number[] }>('jobs/renew', one, { leases })
      assert.deepEqual(kept.body, { lost: [] })
      const done = await post<{ lost: number[] }>('jobs/end', one, { leases, end: { as: 'done' } })
      assert.deepEqual(done.body, { lost: [] })
      const again = await post<{ lost: number[] }>('jobs/end', one, { leases, end: { as: 'done' } })
      assert.deepEqual(again.body, { lost: [0] })
    })

    it('reach nothing of another worker: no job, no lease, no result in its name', async () => {
      await api.world.bus.publish([job('w2')])
      await api.refused(403, 'WORKER_IS_ANOTHER', 'POST', '/api/worker/jobs/take', {
        token: one,
        body: { workerId: 'w2', limit: 1 },
      })
      const [theirs] = await take('w2', two)
      const leases = [theirs!.lease]
      const refuse = (path: string, body: object) =>
        api.refused(403, 'LEASE_OF_ANOTHER', 'POST', `/api/worker/jobs/${path}`, {
          token: one,
          body,
        })
      await refuse('renew', { leases })
      for (const end of [
        { as: 'done' },
        { as: 'given-back', isCounted: true },
        { as: 'given-back', isCounted: false },
        { as: 'dead', reason: 'Odd', description: '' },
      ])
        await refuse('end', { leases, end })
      // Nor by guessing the number of a row.
      const [guessed] = await api.world.db.query<{ id: number; n: number }>(
        `select id, delivery_count as n from bundles where worker_id = 'w2' and lease_token is not null`,
      )
      const token = crypto.randomUUID()
      await refuse('end', {
        leases: [{ sequence: String(guessed!.id), token }],
        end: { as: 'given-back', isCounted: false },
      })
      const [after] = await api.world.db.query<{ n: number }>(
        'select delivery_count as n from bundles where id = $1',
        [guessed!.id],
      )
      assert.equal(after!.n, guessed!.n)
      const kept = await post<{ lost: number[] }>('jobs/renew', two, { leases })
      assert.deepEqual(kept.body, { lost: [] })
      const body = JSON.stringify({ jobId: theirs!.messageId, workerId: 'w2', status: 'Success' })
      const messages = [{ messageId: 'result-x', type: 'worker-result', body }]
      await api.refused(403, 'RESULT_OF_ANOTHER', 'POST', '/api/worker/results', {
        token: one,
        body: { messages },
      })
      const nameless = JSON.stringify({ jobId: theirs!.messageId, status: 'Success' })
      await api.refused(403, 'RESULT_OF_ANOTHER', 'POST', '/api/worker/results', {
        token: one,
        body: { messages: [{ ...messages[0], body: nameless }] },
      })
      assert.deepEqual(await api.world.bus.receive(WORKER_RESULTS, 10), [])
    })

    it('send results once, however often, and refuse what no bus carries', async () => {
      const body = JSON.stringify({ JobId: 'step-1', WorkerId: 'w1', Status: 'success' })
      const message = { messageId: 'result-step-1', type: 'worker-result', body }
      for (let time = 0; time < 3; time += 1) {
        const { status } = await post('results', one, { messages: [message] })
        assert.equal(status, 200)
      }
      const got = await api.world.bus.receive(WORKER_RESULTS, 10)
      assert.deepEqual(
        got.map((found) => [found.messageId, found.body, found.properties.WorkerId]),
        [['result-step-1', body, 'w1']],
        'word for word: the orchestrator reads any casing',
      )
      await api.world.bus.ack(got)
      const refuse = (status: number, code: string, change: object) =>
        api.refused(status, code, 'POST', '/api/worker/results', {
          token: one,
          // A good one with it is not stored, either.
          body: {
            messages: [
              { ...message, messageId: 'result-step-2' },
              { ...message, ...change },
            ],
          },
        })
      await refuse(422, 'MESSAGE_BODY_INVALID', { body: '{' })
      await refuse(422, 'MESSAGE_ID_INVALID', { messageId: 'with blank' })
      const long = JSON.stringify({
        jobId: 'step-1',
        workerId: 'w1',
        status: 'Success',
        result: 'x'.repeat(262_144),
      })
      await refuse(413, 'MESSAGE_TOO_LARGE', { body: long })
      await refuse(400, 'REQUEST_INVALID', { type: 'batch-init' })
      assert.deepEqual(await api.world.bus.receive(WORKER_RESULTS, 10), [])
    })

    it('wait for a job without taking it, and end when the time is over', async () => {
      const wait = () =>
        post<{ mayHaveJobs: boolean }>('jobs/wait', one, { seconds: 20 }).then(({ body }) => body)
      await api.world.bus.publish([job('w1')])
      assert.deepEqual(await wait(), { mayHaveJobs: true })
      const [taken] = await take('w1', one)
      const { bus, clock } = api.world
      await bus.ack(await bus.receive(workerJobs('w1'), 10))
      const end = { as: 'given-back', isCounted: false, delayMs: 60_000 }
      await post('jobs/end', one, { leases: [taken!.lease], end })
      const waiting = wait()
      // Nothing is due for a minute.
      const isWaiting = () => +(clock.nextWakeAt() ?? 0) === +clock.now() + 5_000
      while (!isWaiting()) await new Promise(setImmediate)
      await clock.advance(25_000)
      assert.deepEqual(await waiting, { mayHaveJobs: false })
    })
  })
}

credentials()
calls()

covers(
  'awaitJobs',
  'createWorkerCredential',
  'endJobs',
  'getOwnWorker',
  'listWorkerCredentials',
  'renewJobs',
  'revokeWorkerCredential',
  'rotateWorkerCredential',
  'sendResults',
  'takeJobs',
)
