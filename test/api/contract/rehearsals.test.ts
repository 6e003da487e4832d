// Rehearsals over HTTP, with a runner that ends when the test says so: one at a time, progress, results that survive, clear ends.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  REHEARSAL_SEC_MAX,
  type RehearsalOrder,
  type RunRehearsal,
} from '../../../src/api/services/rehearsals.ts'
import type { Json } from '../../../src/base/text/json.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { people, WORKER } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

const PATH = '/api/rehearsals'
const BODY = { yamlContent: plain(), members: [{ UserPrincipalName: 'ada@contoso.example' }] }

interface Shown {
  id: number
  status: string
  at: string | null
  because: string | null
  verdict: string | null
  batchId: number | null
  members: number
  report: Json
}

interface Begun {
  readonly order: RehearsalOrder
  readonly onProgress: (at: Date) => void
  end(report: Json): void
  crash(why: string): void
}

/** What was begun, in order. */
function steeredRunner(): { runner: RunRehearsal; begun: Begun[] } {
  const begun: Begun[] = []
  const run: RunRehearsal['run'] = (order, signal, onProgress) => {
    const { promise, resolve, reject } = Promise.withResolvers<Json>()
    signal.addEventListener('abort', () => reject(new Error('killed')))
    begun.push({ order, onProgress, end: resolve, crash: (why) => reject(new Error(why)) })
    return promise
  }
  return { runner: { faultNames: ['throttling'], run }, begun }
}

describe('rehearsals', () => {
  let api: ApiUnderTest
  const { runner, begun } = steeredRunner()
  before(async () => {
    const read = readNotificationSettings('channels: [{ name: night, type: teams, url_file: u }]')
    const notifications = 'settings' in read ? read.settings : null
    const options = { runRehearsal: runner, maintenanceIntervalMs: 60_000, notifications }
    api = await openApiUnderTest({ options })
  })
  after(() => api.close())

  const begin = async (more: object = {}) => {
    const { status, body, text } = await api.call<Shown>('POST', PATH, {
      body: { ...BODY, ...more },
    })
    assert.equal(status, 202, text)
    return body.id
  }
  const show = async (id: number) => (await api.call<Shown>('GET', `${PATH}/${id}`)).body
  /** The end is stored a moment after the runner's. */
  const ended = async (id: number) => {
    for (;;) {
      const shown = await show(id)
      if (shown.status !== 'running') return shown
    }
  }

  it('begins one, tells its progress, and keeps the report', async () => {
    const id = await begin({ faults: ['throttling'], seed: 7 })
    const { order, onProgress, end } = begun.at(-1)!
    assert.deepEqual(
      [order.columns, order.faults, order.seed, order.slots, order.startAt],
      [['UserPrincipalName'], ['throttling'], 7, 32, null],
    )
    assert.equal(order.notifications!.channels[0]!.name, 'night')
    onProgress(new Date('2030-03-01T20:00:00Z'))
    const running = await show(id)
    assert.deepEqual([running.status, running.at], ['running', '2030-03-01T20:00:00.000Z'])
    await api.refused(409, 'REHEARSAL_RUNNING', 'POST', PATH, { body: BODY })
    assert.equal(begun.length, 1, 'the second one did not begin')
    end({ verdict: 'ready', members: { total: 1 } })
    const done = await ended(id)
    assert.deepEqual([done.status, done.verdict, done.at], ['completed', 'ready', null])
    assert.deepEqual(done.report, { verdict: 'ready', members: { total: 1 } })
    const { body } = await api.call<{ rehearsals: Shown[] }>('GET', PATH)
    assert.deepEqual(
      body.rehearsals.map((one) => [one.id, one.verdict]),
      [[id, 'ready']],
    )
    assert.ok(!('report' in body.rehearsals[0]!), 'the list names nobody')
  })

  it('audits who began it and who read its report, without people', async () => {
    const { body } = await api.call<{ entries: { action: string; after: Json }[] }>(
      'GET',
      '/api/audit',
    )
    const first = body.entries.find(({ action }) => action === 'rehearsal.begin')!
    assert.deepEqual(first.after, {
      runbook: 'plain',
      members: 1,
      faults: ['throttling'],
      seed: 7,
    })
    assert.ok(body.entries.some(({ action }) => /getRehearsal|read/i.test(action)))
  })

  it('answers a repeated request with the same rehearsal', async () => {
    const headers = { 'idempotency-key': 'rehearse-once' }
    const first = await api.call<Shown>('POST', PATH, { body: BODY, headers })
    const again = await api.call<Shown>('POST', PATH, { body: BODY, headers })
    assert.equal(again.body.id, first.body.id)
    const other = { body: { ...BODY, seed: 2 }, headers }
    await api.refused(422, 'KEY_REUSED', 'POST', PATH, other)
    const count = begun.length
    begun.at(-1)!.crash('Its process ended by SIGKILL before the report was there.')
    const failed = await ended(first.body.id)
    assert.deepEqual(
      [failed.status, failed.because, failed.report],
      ['failed', 'Its process ended by SIGKILL before the report was there.', null],
    )
    assert.equal(begun.length, count)
  })

  it('is cancelled, then deleted', async () => {
    const id = await begin()
    const cancelled = await api.call('DELETE', `${PATH}/${id}`)
    assert.deepEqual(cancelled.body, { id, did: 'cancelled' })
    const shown = await show(id)
    assert.equal(shown.status, 'cancelled')
    assert.match(shown.because!, /^Cancelled by /)
    assert.deepEqual((await api.call('DELETE', `${PATH}/${id}`)).body, { id, did: 'deleted' })
    await api.refused(404, 'REHEARSAL_NOT_FOUND', 'GET', `${PATH}/${id}`)
    await api.refused(404, 'REHEARSAL_NOT_FOUND', 'DELETE', `${PATH}/${id}`)
  })

  it('ends after its time limit', async () => {
    const id = await begin()
    await api.world.clock.advance(REHEARSAL_SEC_MAX * 1_000)
    const { status, because } = await ended(id)
    assert.equal(status, 'failed')
    assert.match(because!, /^It was not over after 10 minutes/)
  })

  it('rehearses a running batch with a change, and touches nothing live', async () => {
    const { world } = api
    await world.publish(plain('wave'))
    const ids = [
      await world.batch('wave', 3, { startsInMin: 24 * 60 }),
      await world.batch('wave', [{ key: 'other', data: { UserPrincipalName: 'other' } }], {
        manual: true,
      }),
    ]
    const path = (id: number) => `/api/batches/${id}/what-if`
    const steps = () => world.db.query('select id, status from step_executions order by id')
    const [before, jobs] = [await steps(), world.jobs.length]
    const body = { slots: 16, without: [people(3)[1]!.key], seed: 5 }
    const headers = { 'idempotency-key': 'what-if-once' }
    const begunNow = await api.call<Shown>('POST', path(ids[0]!), { body, headers })
    const reused = { body: { slots: 2 }, headers }
    await api.refused(422, 'KEY_REUSED', 'POST', path(ids[0]!), reused)
    assert.equal(begunNow.status, 202, begunNow.text)
    assert.deepEqual([begunNow.body.batchId, begunNow.body.members], [ids[0], 2])
    const { order, end } = begun.at(-1)!
    const { isCompared, past, keys, change } = order.whatIf!
    assert.ok(isCompared)
    assert.deepEqual(
      keys,
      people(3).map(({ key }) => key),
    )
    assert.deepEqual([order.seed, change.slots, change.people], [5, 16, null])
    assert.deepEqual([past.batchId, past.at], [ids[0], world.clock.now().toISOString()])
    assert.equal(order.rows.length, 3)
    await api.refused(409, 'REHEARSAL_RUNNING', 'POST', path(ids[0]!), { body })
    end({ verdict: 'ready', headline: 'With 16 slots …' })
    const done = await ended(begunNow.body.id)
    assert.deepEqual([done.verdict, done.batchId], ['ready', ids[0]])
    assert.deepEqual(await steps(), before)
    assert.equal(world.jobs.length, jobs)
    const count = begun.length
    await api.refused(400, 'WHAT_IF_UNFIT', 'POST', path(ids[0]!), { body: { people: 3 } })
    await api.refused(400, 'WHAT_IF_UNFIT', 'POST', path(ids[0]!), { body: {} })
    await api.refused(400, 'REHEARSAL_BATCH_UNFIT', 'POST', path(ids[1]!), { body })
    await api.refused(404, 'BATCH_NOT_FOUND', 'POST', path(99), { body })
    const faults = { body: { faults: ['trottling'] } }
    await api.refused(400, 'REHEARSAL_FAULTS_INVALID', 'POST', path(ids[0]!), faults)
    assert.equal(begun.length, count, 'none of them began')
    const { body: audit } = await api.call<{ entries: { subject: string; after: Json }[] }>(
      'GET',
      '/api/audit?action=batch.what-if',
    )
    assert.equal(audit.entries.length, 1)
    assert.deepEqual(audit.entries[0]!.after, {
      rehearsal: begunNow.body.id,
      compare: true,
      slots: 16,
      workerSlots: {},
      people: null,
      faults: [],
      without: 1,
      seed: 5,
    })
  })

  it('rehearses a running batch once, and its report gives forecasts no times', async () => {
    const { world } = api
    const id = await world.batch('wave', [{ key: 'eve', data: { UserPrincipalName: 'eve' } }], {
      startsInMin: 48 * 60,
    })
    const path = `/api/batches/${id}/what-if`
    const single = { body: { compare: false, workerSlots: { [WORKER]: 2 } } }
    await api.refused(400, 'WHAT_IF_UNFIT', 'POST', path, single)
    const given = { body: { compare: false, slots: 4 } }
    const begunNow = await api.call<Shown>('POST', path, given)
    assert.equal(begunNow.status, 202, begunNow.text)
    const { order, end } = begun.at(-1)!
    assert.deepEqual([order.whatIf!.isCompared, order.slots], [false, 4])
    assert.equal(order.notifications!.channels[0]!.name, 'night', 'those of the system')
    const phase = { phase: 'cutover', members: 1, worstSec: 60, tenTimesSec: 90 }
    end({ verdict: 'ready', slots: 4, faults: [], timeline: [phase] })
    assert.equal((await ended(begunNow.body.id)).verdict, 'ready')
    const sql = 'select times_json as times from rehearsals where id = $1'
    assert.deepEqual(await world.db.query(sql, [begunNow.body.id]), [{ times: null }])
  })

  it('takes the people of a CSV file', async () => {
    const body = { yamlContent: plain(), memberFile: 'UserPrincipalName\nada@contoso.example\n' }
    const begunNow = await api.call<Shown>('POST', PATH, { body })
    assert.equal(begunNow.status, 202, begunNow.text)
    assert.deepEqual(begun.at(-1)!.order.rows, [{ UserPrincipalName: 'ada@contoso.example' }])
    begun.at(-1)!.end({ verdict: 'ready' })
    await ended(begunNow.body.id)
  })

  it('refuses what cannot be rehearsed', async () => {
    const faults = { body: { ...BODY, faults: ['trottling'] } }
    await api.refused(400, 'REHEARSAL_FAULTS_INVALID', 'POST', PATH, faults)
    const invalid = { body: { ...BODY, yamlContent: 'name: x\n' } }
    await api.refused(422, 'RUNBOOK_INVALID', 'POST', PATH, invalid)
    const { status } = await api.call('POST', PATH, { body: { ...BODY, members: [] } })
    assert.equal(status, 400)
    const yamlContent = plain()
    const files: [text: string, why: RegExp][] = [
      ['UserPrincipalName;When\nada@x;2030', /separates columns with semicolons/],
      ['UserPrincipalName\n', /has 0 people, and a rehearsal takes 1 to 2000/],
      ['', /it is empty/],
    ]
    for (const [memberFile, why] of files) {
      const given = { body: { yamlContent, memberFile } }
      const { body } = await api.refused(400, 'MEMBER_FILE_INVALID', 'POST', PATH, given)
      assert.match(JSON.stringify(body), why)
    }
    const both = await api.call('POST', PATH, { body: { ...BODY, memberFile: 'a\nb\n' } })
    assert.equal(both.status, 400, 'either rows or a file')
  })

  it('of an API that ended stays visible, blocks nobody, and is not cancelled elsewhere', async () => {
    await api.world.db.query(
      `insert into rehearsals (runbook_name, members, requested_by, requested_at, status) values ('other', 1, 'eve', $1, 'running')`,
      [api.world.clock.now()],
    )
    const { body } = await api.call<{ rehearsals: Shown[] }>('GET', PATH)
    const [lost] = body.rehearsals
    await api.refused(409, 'REHEARSAL_RUNNING', 'DELETE', `${PATH}/${lost!.id}`)
    const own = await begin()
    begun.at(-1)!.end({ verdict: 'ready' })
    await ended(own)
    await api.world.clock.advance(2 * REHEARSAL_SEC_MAX * 1_000 + 60_000)
    const shown = await ended(lost!.id)
    assert.deepEqual([shown.status, shown.because], ['failed', 'The API that ran it has ended.'])
  })

  it('are kept in a small number, and a stopping API ends the one it runs', async () => {
    await api.world.db.query(
      `insert into rehearsals (runbook_name, members, requested_by, requested_at, status, ended_at, because)
         select 'old', 1, 'eve', $1, 'failed', $1, 'x' from generate_series(1, 40)`,
      [api.world.clock.now()],
    )
    const id = await begin()
    const counted = await api.world.db.query<{ count: number }>(
      'select count(*)::int as count from rehearsals',
    )
    assert.equal(counted[0]!.count, 20)
    await api.api.stop()
    const rows = await api.world.db.query('select status, because from rehearsals where id = $1', [
      id,
    ])
    assert.deepEqual(rows, [{ status: 'cancelled', because: 'The API stopped.' }])
  })
})

describe('an API without a runner', () => {
  it('says so', async () => {
    const api = await openApiUnderTest()
    try {
      await api.refused(503, 'REHEARSAL_UNAVAILABLE', 'POST', PATH, { body: BODY })
      await api.world.publish(plain('wave'))
      const id = await api.world.batch('wave', 1, { startsInMin: 60 })
      const asked = { body: { slots: 2 } }
      const path = `/api/batches/${id}/what-if`
      await api.refused(503, 'REHEARSAL_UNAVAILABLE', 'POST', path, asked)
    } finally {
      await api.close()
    }
  })
})

covers('beginRehearsal', 'beginWhatIf', 'deleteRehearsal', 'getRehearsal', 'listRehearsals')
