// Batches, members, phases and steps over HTTP: lists with their filters, and changes to manual batches.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { noStates } from '../../../src/domain/state/person-state.ts'
import { holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { csvOf, formOf, plain, plainCsv, WAVE_HEADER, wave } from './fixtures.ts'

interface BatchPage {
  batches: { id: number; status: string; runbookName: string; memberCount: number }[]
  total: number
  isTotalExact: boolean
  next: string | null
}
interface OneBatch {
  batch: { id: number; status: string; currentPhase: string | null; members: object }
  nextPhase: string | null
  availablePhases: string[]
  phases: { phaseName: string; status: string; members: { total: number } }[]
  initSteps: { stepName: string; status: string }[]
}
interface MemberPage {
  members: {
    id: number
    memberKey: string
    status: string
    failure: { stepName: string; error: string } | null
  }[]
  total: number
  isTotalExact: boolean
  next: string | null
}
interface StepPage {
  steps: { id: number; stepName: string; phaseName: string; memberKey: string; status: string }[]
  total: number
  isTotalExact: boolean
  next: string | null
}

const idsOf = (page: { body: BatchPage }) => page.body.batches.map(({ id }) => id)
const keysOf = (page: { body: MemberPage }) =>
  page.body.members.map(({ memberKey }) => memberKey.split('@')[0])

describe('the list of batches', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    const { world } = api
    await world.publish(plain('one'))
    await world.publish(plain('two'))
    await world.batch('one', 2, { startsInMin: 3000 })
    await world.batch('two', people(4).slice(3), { manual: true })
    await world.batch('two', 3, { startsInMin: 2000 })
    await holdBatch(world.engine, { batchId: 3, actor: 'op', reason: 'wait' })
  })
  after(() => api.close())
  const list = (query: string) => api.call<BatchPage>('GET', `/api/batches${query}`)

  it('is newest first, in pages', async () => {
    const first = await list('?limit=2')
    assert.deepEqual([idsOf(first), first.body.total, first.body.isTotalExact], [[3, 2], 3, true])
    const rest = await list(`?limit=2&cursor=${first.body.next}`)
    assert.deepEqual([idsOf(rest), rest.body.next], [[1], null])
  })

  it('filters and sorts', async () => {
    assert.deepEqual(idsOf(await list('?runbook=TWO')), [3, 2])
    assert.deepEqual(idsOf(await list('?status=detected,active')), [3, 2, 1])
    assert.deepEqual(idsOf(await list('?manual=true')), [2])
    assert.deepEqual(idsOf(await list('?held=true')), [3])
    assert.deepEqual(idsOf(await list('?startsFrom=2026-03-04T08:00:00Z')), [1])
    assert.deepEqual(idsOf(await list('?startsBefore=2026-03-04T08:00:00Z')), [3])
    assert.deepEqual(idsOf(await list('?sort=start')), [3, 1, 2])
    assert.deepEqual(idsOf(await list('?sort=start_latest')), [1, 3, 2])
    for (const sort of ['newest', 'oldest', 'start', 'start_latest']) {
      const all = idsOf(await list(`?sort=${sort}`))
      const walked: number[] = []
      let next: string | null = null
      do {
        const page: { body: BatchPage } = await list(
          `?sort=${sort}&limit=1${next === null ? '' : `&cursor=${next}`}`,
        )
        walked.push(...idsOf(page))
        next = page.body.next
      } while (next !== null)
      assert.deepEqual(walked, all, sort)
    }
  })

  it('refuses unknown parameters and values', async () => {
    for (const bad of [
      'limit=0',
      'limit=501',
      'limit=-1',
      'status=open',
      'x=1',
      'manual=yes',
      'sort=a',
    ])
      await api.refused(400, 'REQUEST_INVALID', 'GET', `/api/batches?${bad}`)
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches?startsFrom=2024-02-30T00:00:00Z')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches?startsFrom=2024-02-03T00:00:00')
    const { body } = await list('?limit=1')
    const path = `/api/batches?sort=start&cursor=${body.next}`
    await api.refused(400, 'CURSOR_INVALID', 'GET', path)
  })
})

describe('a manual batch', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(wave())
    api.world.answer = (job) => {
      if (job.functionName === 'Break') return { fail: 'the tenant said no' }
      return { ok: { id: 'T' } }
    }
  })
  after(() => api.close())

  let made = 0
  const rows = (...keys: string[]) =>
    csvOf(
      WAVE_HEADER,
      ...keys.map((key) => `${key},a;b,${key.startsWith('bad') ? 'Break' : 'Go'},s,o`),
    )
  const create = (...keys: string[]) =>
    api.call<{ batchId: number; memberCount: number; availablePhases: string[] }>(
      'POST',
      '/api/batches',
      { form: formOf(rows(...keys), { runbookName: 'wave' }) },
    )
  const createMany = async (count: number) => {
    made += 1
    const keys = Array.from({ length: count }, (_, at) => `u${made}-${at}@x.example`)
    return (await create(...keys)).body.batchId
  }
  const advance = (batchId: number, expectedPhase: string, more = {}) =>
    api.call('POST', `/api/batches/${batchId}/advance`, { body: { expectedPhase, ...more } })

  it('is created from a file and advanced by hand: init, then its phases in time order', async () => {
    const { status, body, headers } = await create('ada@x.example', 'bad@x.example')
    assert.deepEqual([status, body.memberCount], [201, 2])
    assert.deepEqual(body.availablePhases, ['prepare', 'cutover'])
    assert.equal(headers.get('location'), `/api/batches/${body.batchId}`)
    const readBatch = () => api.call<OneBatch>('GET', `/api/batches/${body.batchId}`)
    assert.equal((await readBatch()).body.nextPhase, 'init')
    await api.refused(409, 'REFUSED', 'POST', `/api/batches/${body.batchId}/advance`, {
      body: { expectedPhase: 'prepare' },
    })
    assert.equal((await advance(body.batchId, 'init')).status, 200)
    await api.world.settle()
    const begun = await readBatch()
    assert.deepEqual(
      [begun.body.initSteps[0]!.status, begun.body.nextPhase, begun.body.batch.status],
      ['succeeded', 'prepare', 'active'],
    )
    assert.equal((await advance(body.batchId, 'PREPARE')).status, 200)
    await api.world.settle()
    assert.equal((await advance(body.batchId, 'cutover')).status, 200)
    await api.world.settle()
    const ended = await readBatch()
    assert.equal(ended.body.batch.status, 'completed')
    assert.deepEqual(ended.body.batch.members, {
      ...noStates(),
      active: 1,
      done: 1,
      rolled_back: 1,
      total: 2,
    })
    assert.equal(ended.body.nextPhase, null)
  })

  it('shows its phases, its steps by phase and member name, and its failures', async () => {
    const phases = await api.call<OneBatch>('GET', '/api/batches/1/phases')
    assert.deepEqual(
      phases.body.phases.map(({ phaseName, status, members }) => [
        phaseName,
        status,
        members.total,
      ]),
      [
        ['prepare', 'completed', 2],
        ['cutover', 'completed', 2],
      ],
    )
    const steps = (query: string) => api.call<StepPage>('GET', `/api/batches/1/steps${query}`)
    const failed = await steps('?status=failed,rolled_back')
    assert.equal(failed.body.total, 1)
    const [step] = failed.body.steps
    assert.deepEqual(
      [step!.memberKey, step!.phaseName, step!.stepName, step!.status],
      ['bad@x.example', 'cutover', 'switch', 'rolled_back'],
    )
    assert.deepEqual((await steps('')).body.total, 4)
    assert.deepEqual((await steps('?phase=Prepare')).body.total, 2)
    assert.deepEqual((await steps('?step=switch&status=succeeded')).body.steps.length, 1)
    assert.deepEqual((await steps('?memberKey=BAD@x.example')).body.total, 2)
    assert.deepEqual((await steps('?memberId=2&kind=phase,rollback')).body.total, 3)
    assert.deepEqual((await steps('?kind=init')).body.steps[0]!.stepName, 'setup')
    assert.deepEqual((await steps('?error=TENANT')).body.total, 1)
    assert.deepEqual((await steps('?worker=w2')).body.total, 0)
    assert.deepEqual((await steps('?status=dispatched')).body.total, 0)
    assert.deepEqual((await steps('?endedFrom=2026-03-02T00:00:00Z')).body.total, 4)
    assert.deepEqual((await steps('?endedBefore=2026-03-02T00:00:00Z')).body.total, 0)
    const first = await steps('?limit=3&sort=id_latest')
    const rest = await steps(`?limit=3&sort=id_latest&cursor=${first.body.next}`)
    assert.deepEqual(
      [first.body.steps.length, rest.body.steps.length, rest.body.next],
      [3, 1, null],
    )
    const members = await api.call<MemberPage>('GET', '/api/batches/1/members?status=failed')
    assert.match(members.body.members[0]!.failure!.error, /^the tenant said no/)
  })

  it('lists its members by key, status and failure, in pages', async () => {
    const batchId = (await create('zoe@x.example', 'yan@x.example', 'xia@x.example')).body.batchId
    const list = (query: string) =>
      api.call<MemberPage>('GET', `/api/batches/${batchId}/members${query}`)
    assert.deepEqual(keysOf(await list('')), ['zoe', 'yan', 'xia'])
    assert.deepEqual(keysOf(await list('?sort=key')), ['xia', 'yan', 'zoe'])
    const first = await list('?sort=key&limit=2')
    assert.deepEqual([keysOf(first), first.body.total], [['xia', 'yan'], 3])
    assert.deepEqual(keysOf(await list(`?sort=key&limit=2&cursor=${first.body.next}`)), ['zoe'])
    assert.deepEqual(keysOf(await list('?key=Y')), ['yan'])
    assert.deepEqual(keysOf(await list('?search=O')), ['zoe'])
    assert.deepEqual(keysOf(await list('?search=%25')), [])
    assert.deepEqual((await list('?status=failed,removed')).body.total, 0)
    const failed = (query: string) => api.call<MemberPage>('GET', `/api/batches/1/members?${query}`)
    assert.deepEqual(keysOf(await failed('failedPhase=cutover')), ['bad'])
    assert.deepEqual(keysOf(await failed('failedStep=create')), [])
    assert.deepEqual(keysOf(await failed('error=SAID%20no')), ['bad'])
    assert.deepEqual(keysOf(await failed('error=said%20no&search=AD&status=failed')), ['bad'])
    assert.deepEqual(keysOf(await failed('error=said%20no&search=good')), [])
    assert.deepEqual(keysOf(await failed('error=said%20no&status=active')), [])
    const none = await failed('error=said%20no&sort=key&cursor=WyJrZXkiLCJ6IiwxXQ')
    assert.deepEqual([keysOf(none), none.body.total, none.body.next], [[], 1, null])
  })

  it('adds members, re-adds removed ones and skips the others', async () => {
    const { batchId } = (await create('one@x.example', 'two@x.example')).body
    const path = `/api/batches/${batchId}/members`
    const { body } = await api.call<MemberPage>('GET', path)
    const two = body.members[1]!.id
    const gone = await api.call('DELETE', `${path}/${two}?reason=left`)
    assert.deepEqual([gone.status, gone.body.status], [200, 'removed'])
    await api.world.settle()
    const form = formOf(rows('one@x.example', 'TWO@x.example', 'three@x.example'))
    const dry = await api.call('POST', `${path}?dryRun=true`, { form })
    assert.deepEqual([dry.status, dry.body.isDryRun], [200, true])
    const added = await api.call('POST', path, { form, headers: { 'idempotency-key': 'add-1' } })
    assert.deepEqual(
      [added.status, added.body.addedCount, added.body.takenBackCount, added.body.skippedCount],
      [201, 1, 1, 1],
      added.text,
    )
    const again = await api.call('POST', path, { form, headers: { 'idempotency-key': 'add-1' } })
    assert.deepEqual(again.body, added.body)
    await api.refused(422, 'KEY_REUSED', 'POST', path, {
      form: formOf(rows('four@x.example')),
      headers: { 'idempotency-key': 'add-1' },
    })
    await api.refused(412, 'STATE_CHANGED', 'POST', path, {
      form,
      headers: { 'if-match': '"old"' },
    })
    await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', path, { form: formOf(plainCsv('x')) })
    await api.refused(409, 'MEMBER_ELSEWHERE', 'POST', path, {
      form: formOf(rows('zoe@x.example')),
    })
    await api.refused(404, 'BATCH_NOT_FOUND', 'POST', '/api/batches/999/members', { form })
  })

  it('removes a member once, with a current etag', async () => {
    const batchId = await createMany(2)
    const path = `/api/batches/${batchId}/members`
    const { body } = await api.call<MemberPage>('GET', path)
    const one = `${path}/${body.members[0]!.id}`
    await api.refused(412, 'STATE_CHANGED', 'DELETE', one, { headers: { 'if-match': '"x"' } })
    assert.equal((await api.call('DELETE', one)).status, 200)
    await api.refused(409, 'REFUSED', 'DELETE', one)
    await api.refused(404, 'MEMBER_NOT_FOUND', 'DELETE', `${path}/999999`)
    await api.refused(404, 'BATCH_NOT_FOUND', 'DELETE', '/api/batches/999/members/1')
  })

  it('is cancelled once, with a reason', async () => {
    const batchId = await createMany(2)
    const path = `/api/batches/${batchId}/cancel`
    await api.refused(400, 'REQUEST_INVALID', 'POST', path, { body: {} })
    const body = { reason: 'not this week' }
    const stale = { 'if-match': '"old"' }
    await api.refused(412, 'STATE_CHANGED', 'POST', path, { body, headers: stale })
    const seen = (await api.call('GET', `/api/batches/${batchId}`)).headers.get('etag')!
    const done = await api.call<OneBatch>('POST', path, { body, headers: { 'if-match': seen } })
    assert.deepEqual([done.status, done.body.batch.status], [200, 'cancelled'])
    await api.refused(409, 'REFUSED', 'POST', path, { body })
    await api.refused(404, 'BATCH_NOT_FOUND', 'POST', '/api/batches/999/cancel', { body })
  })

  it('is advanced only with a current etag', async () => {
    const batchId = await createMany(1)
    const path = `/api/batches/${batchId}/advance`
    const body = { expectedPhase: 'init' }
    await api.refused(412, 'STATE_CHANGED', 'POST', path, {
      body,
      headers: { 'if-match': '"x"' },
    })
    await api.refused(404, 'BATCH_NOT_FOUND', 'POST', '/api/batches/999/advance', { body })
    assert.equal((await api.call('POST', path, { body })).status, 200)
    await api.refused(409, 'REFUSED', 'POST', path, { body })
  })

  it('is not found under any other id', async () => {
    for (const part of ['', '/phases', '/members', '/steps']) {
      await api.refused(404, 'BATCH_NOT_FOUND', 'GET', `/api/batches/999${part}`)
      for (const bad of [
        '1e9',
        '0x10',
        '%201',
        '1.0',
        '9223372036854775808',
        '-1',
        '9007199254740993',
      ])
        await api.refused(400, 'REQUEST_INVALID', 'GET', `/api/batches/${bad}${part}`)
    }
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/batches/1/members?cursor=bm8')
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/batches/1/steps?cursor=bm8')
  })
})

describe('a batch from a file', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
  })
  after(() => api.close())
  const form = (csv: string, runbookName = 'plain') => formOf(csv, { runbookName })

  it('supports a dry run', async () => {
    const path = '/api/batches?dryRun=true'
    const { status, body } = await api.call('POST', path, {
      form: form(csvOf('USERPRINCIPALNAME,Shoe', 'dry@x.example,44')),
    })
    assert.deepEqual([status, body.isDryRun, body.batchId, body.memberCount], [200, true, null, 1])
    assert.match(String(body.warnings), /"Shoe" is kept, but the runbook does not use it/)
    assert.equal((await api.call<BatchPage>('GET', '/api/batches')).body.total, 0)
  })

  it('is created once per key', async () => {
    const headers = { 'idempotency-key': 'create-1' }
    const first = await api.call('POST', '/api/batches', {
      form: form(plainCsv('k@x.example')),
      headers,
    })
    const second = await api.call('POST', '/api/batches', {
      form: form(plainCsv('k@x.example')),
      headers,
    })
    // The dry run before used up no number.
    assert.deepEqual([first.status, first.body.batchId], [201, 1])
    assert.deepEqual(second.body, first.body)
    await api.refused(422, 'KEY_REUSED', 'POST', '/api/batches', {
      form: form(plainCsv('other@x.example')),
      headers,
    })
  })

  it('is refused when a member is in another batch or the runbook is unknown', async () => {
    await api.refused(409, 'MEMBER_ELSEWHERE', 'POST', '/api/batches', {
      form: form(plainCsv('k@x.example')),
    })
    await api.refused(404, 'RUNBOOK_NOT_FOUND', 'POST', '/api/batches', {
      form: form(plainCsv('a'), 'nobody'),
    })
  })

  it('is refused when a row has a problem', async () => {
    await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', '/api/batches', {
      form: form(plainCsv('twice@x.example', 'twice@x.example')),
    })
  })

  it('is refused when the form lacks a part or has a wrong one', async () => {
    const refused = (sent: FormData) =>
      api.refused(400, 'REQUEST_INVALID', 'POST', '/api/batches', { form: sent })
    await refused(formOf(null, { runbookName: 'plain' }))
    await refused(formOf(plainCsv('a')))
    await refused(formOf(plainCsv('a'), { runbookName: 'plain', more: 'x' }))
    await api.refused(415, 'MEDIA_TYPE_UNKNOWN', 'POST', '/api/batches', { body: {} })
  })

  it('keeps cells that look like formulas unchanged', async () => {
    await api.call('POST', '/api/batches', {
      form: form(csvOf('UserPrincipalName,Note', 'f@x.example,=1+1')),
    })
    const [row] = await api.world.db.query<{ data: { Note: string } }>(
      `select data_json as data from batch_members where key_folded = 'f@x.example'`,
    )
    assert.equal(row!.data.Note, '=1+1')
  })

  it('refuses to add members by file to a batch of the data source', async () => {
    const batchId = await api.world.batch('plain', 1, { startsInMin: 5000 })
    await api.refused(409, 'REFUSED', 'POST', `/api/batches/${batchId}/members`, {
      form: formOf(plainCsv('late@x.example')),
    })
    await api.refused(409, 'REFUSED', 'POST', `/api/batches/${batchId}/advance`, {
      body: { expectedPhase: 'prepare' },
    })
  })
})

covers(
  'addMembers',
  'advanceBatch',
  'cancelBatch',
  'createBatch',
  'getBatch',
  'listBatches',
  'listMembers',
  'listPhases',
  'listSteps',
  'removeMember',
)
