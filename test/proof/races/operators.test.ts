// Two operators make the same change at the same moment, on PostgreSQL. Of a change that is possible once exactly one succeeds and
// the other gets the reason; changes possible for both add up. Every invariant holds afterwards.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { plain, wave as waveWithInit } from '../../api/contract/fixtures.ts'
import { type Answer, type ApiUnderTest, openApiUnderTest } from '../../api/under-test.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { type Programme, range, startProgramme, wave } from '../../stories/programme.ts'

const reason = 'at the same moment'

interface Pressed {
  readonly method?: string
  readonly path: string
  readonly body?: object
  /** Both saw the same state. */
  readonly seenAt?: string
}

describe('two operators at once', () => {
  let api: ApiUnderTest
  let world: Programme
  let numbered = 0
  before(async () => {
    api = await openApiUnderTest({ database: await openTestPostgres() })
    world = await startProgramme(api.world)
    await world.publish(plain())
    await world.publish(waveWithInit('inits'))
  })
  after(async () => {
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
    await api.close()
  })

  /** Members that no other test of this file uses. */
  const members = (count: number) =>
    Array.from({ length: count }, () => {
      const key = `racer${numbered++}@x.example`
      return { key, data: { UserPrincipalName: key } }
    })
  const scheduled = (count = 2) =>
    world.batch('plain', members(count), { startsInMin: 6000 + numbered })
  const manual = (count = 2) => world.batch('plain', members(count), { manual: true })

  /** A batch whose members all failed at their first step. */
  async function failed(): Promise<number> {
    const batchId = await world.batch('plain', members(3), { startsInMin: 60 + numbered })
    world.answer = () => ({ fail: 'no' })
    await world.settle()
    world.answer = () => ({ ok: true })
    return batchId
  }
  async function failedStep(): Promise<string> {
    const steps = await api.call<{ steps: { id: number }[] }>(
      'GET',
      `/api/batches/${await failed()}/steps?status=failed`,
    )
    return `/api/steps/${steps.body.steps[0]!.id}`
  }

  async function both({ method = 'POST', path, body, seenAt }: Pressed): Promise<Answer[]> {
    const tag = seenAt && (await api.call('GET', seenAt)).headers.get('etag')
    const headers: Record<string, string> = tag ? { 'if-match': tag } : {}
    const sent = body === undefined ? { headers } : { body, headers }
    return Promise.all([api.call(method, path, sent), api.call(method, path, sent)])
  }

  const CASES: Readonly<Record<string, () => Promise<Pressed>>> = {
    hold: async () => ({
      path: '/api/holds',
      body: { scope: 'batch', target: `${await scheduled()}`, reason },
    }),
    resume: async () => {
      const batchId = await scheduled()
      const body = { scope: 'batch', target: `${batchId}`, reason }
      await api.call('POST', '/api/holds', { body })
      return { path: '/api/holds/resume', body, seenAt: `/api/batches/${batchId}` }
    },
    cancel: async () => batchAction(await scheduled(), 'cancel'),
    restart: async () => {
      world.answer = () => ({ fail: 'no' })
      const batchId = await world.batch('inits', members(1), { startsInMin: 6000 + numbered })
      await world.settle()
      world.answer = () => ({ ok: true })
      return batchAction(batchId, 'restart')
    },
    reschedule: async () =>
      batchAction(await scheduled(), 'reschedule', { startTime: '2026-04-01T00:00:00Z' }),
    advance: async () => {
      const path = `/api/batches/${await manual()}/advance`
      return { path, body: { expectedPhase: 'prepare' } }
    },
    clone: async () => {
      const batchId = await manual()
      await api.call('POST', `/api/batches/${batchId}/cancel`, { body: { reason } })
      return { path: `/api/batches/${batchId}/clone`, body: { reason } }
    },
    'remove a member': async () => {
      const path = `/api/batches/${await manual()}/members`
      const { body } = await api.call<{ members: { id: number }[] }>('GET', path)
      return { method: 'DELETE', path: `${path}/${body.members[0]!.id}` }
    },
    skip: async () => stepAction(await failedStep(), 'skip'),
    'mark done': async () => stepAction(await failedStep(), 'done'),
    'accept late': async () => {
      world.answer = () => 'silent'
      const batchId = await world.batch('plain', members(1), { startsInMin: 60 + numbered })
      await world.settle()
      const job = world.jobs.at(-1)!
      await world.pass(3_600 + 120)
      await world.result(job, { ok: true })
      world.answer = () => ({ ok: true })
      await world.settle()
      const { body } = await api.call<{ steps: { id: number }[] }>(
        'GET',
        `/api/batches/${batchId}/steps?status=failed`,
      )
      return stepAction(`/api/steps/${body.steps[0]!.id}`, 'accept-late')
    },
    'replay a dead letter': async () => letterAction('replay'),
    'discard a dead letter': async () => letterAction('discard'),
  }

  const batchAction = (batchId: number, verb: string, more = {}): Pressed => ({
    path: `/api/batches/${batchId}/${verb}`,
    body: { reason, ...more },
    seenAt: `/api/batches/${batchId}`,
  })
  const stepAction = (path: string, verb: string): Pressed => ({
    path,
    body: { decision: verb, reason },
    seenAt: path,
  })
  async function letterAction(verb: string): Promise<Pressed> {
    await world.result({ jobId: 'step-999999' }, { ok: true })
    await world.bus.deadLetter(await world.bus.receive(WORKER_RESULTS, 10), 'Odd', 'for the test')
    const { body } = await api.call<{ deadLetters: { id: string }[] }>(
      'GET',
      '/api/dead-letters?topic=worker-results',
    )
    const path = `/api/dead-letters/${body.deadLetters[0]!.id}`
    return { path, body: { decision: verb, reason } }
  }

  for (const [name, arrange] of Object.entries(CASES)) {
    it(`${name}: one succeeds, the other gets the reason`, async () => {
      const answers = await both(await arrange())
      const done = answers.filter(({ status }) => status === 200 || status === 201)
      const [told] = answers.filter(({ status }) => status === 409 || status === 412)
      assert.equal(done.length, 1, answers.map(({ text }) => text).join('\n'))
      assert.ok(told, answers.map(({ text }) => text).join('\n'))
      await world.settle()
    })
  }

  it('a clone under one key is made once, and both get the same answer', async () => {
    const batchId = await manual()
    await api.call('POST', `/api/batches/${batchId}/cancel`, { body: { reason } })
    const headers = { 'idempotency-key': 'race-clone' }
    const sent = { body: { reason }, headers }
    const path = `/api/batches/${batchId}/clone`
    const [one, two] = await Promise.all([
      api.call('POST', path, sent),
      api.call('POST', path, sent),
    ])
    assert.deepEqual([one!.status, two!.status], [201, 201], `${one!.text}\n${two!.text}`)
    assert.deepEqual(one!.body, two!.body)
  })

  it('two retries of all retry each member once', async () => {
    const path = `/api/batches/${await failed()}/members/retry`
    const answers = await both({ path, body: { reason, select: { all: true } } })
    const done = answers.map(({ body }) => body.doneCount as number)
    assert.equal(done[0]! + done[1]!, 3, JSON.stringify(answers.map(({ body }) => body)))
    await world.settle()
  })

  it('a redo and a variable are applied one after the other', async () => {
    const batchId = await failed()
    const select = { all: true }
    const set = { reason, select, name: 'Site', value: 1 }
    const path = `/api/batches/${batchId}/members`
    for (const { body } of await both({ path: `${path}/variable`, body: set }))
      assert.equal(body.doneCount, 3)
    const redo = { reason, select, fromStep: 'create', again: true }
    const answers = await both({ path: `${path}/retry`, body: redo })
    for (const { body } of answers)
      assert.equal((body.doneCount as number) + (body.refusedCount as number), 3)
    await world.settle()
  })

  it('removals, moves and latecomers are decided once', async () => {
    const open = async (kind: string) => {
      const path = `/api/reviews?kind=${kind}`
      const { body } = await api.call<{ reviews: { id: number }[] }>('GET', path)
      return body.reviews.map(({ id }) => id)
    }
    const once = async (decision: string, reviewIds: number[], more = {}) => {
      assert.ok(reviewIds.length > 0)
      const answers = await both({
        path: '/api/reviews',
        body: { decision, reviewIds, reason, ...more },
      })
      assert.deepEqual(
        answers.map(({ status }) => status).sort(),
        [200, 409],
        answers.map(({ text }) => text).join('\n'),
      )
    }
    const startHours = Math.ceil((+world.clock.now() - Date.UTC(2026, 2, 2, 8)) / 3_600_000) + 40
    await world.tick(wave(startHours, ...range(1, 12)))
    await world.tick(wave(startHours, ...range(6, 12)))
    await world.tick()
    const [one, ...others] = await open('removal')
    await once('approve', [one!])
    await once('dismiss', others)
    await world.tick(wave(startHours + 24, ...range(1, 12)))
    await once('approve', await open('move'), { choice: 'reschedule' })
    await world.tickUntil(startHours + 26, 12)
    await world.tick(wave(startHours + 24, ...range(1, 14)))
    await once('approve', (await open('join')).slice(0, 1))
  })
})
