// The messages to members, over HTTP.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  holdBatch,
  rescheduleBatch,
  resumeBatch,
} from '../../../src/engine/orders/batch-actions.ts'
import { order } from '../../stories/looking.ts'
import { DAY, inDays, person, wave } from '../../stories/message-wave.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'

interface Line {
  memberId: number
  memberKey: string
  state: string
  message: string
  language: string | null
  to: string | null
  sentAt: string | null
  startTime: string | null
  correctsTime: string | null
  correctedAt: string | null
  stepName: string
  stepStatus: string | null
  jobId: string | null
  error: string | null
}
interface Page {
  messages: Line[]
  total: number
  isTotalExact: boolean
  next: string | null
}

const FIRST = inDays(14).toISOString()
const SECOND = inDays(20).toISOString()

describe('the messages to members', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(wave())
    api.world.answer = ({ parameters }) =>
      parameters.To === 'max@contoso.example' ? { fail: 'the mailbox is full' } : { ok: true }
    const people = [person('ada', 'de-AT'), person('kim', 'fr'), person('lee'), person('max')]
    await api.world.batch('wave', people, { startsInMin: 14 * DAY })
    await api.world.settle()
  })
  after(() => api.close())
  const get = <Body = Page>(path: string) => api.call<Body>('GET', `/api/batches/1/messages${path}`)
  const lines = async (query: string) =>
    (await get(query)).body.messages.map(
      ({ memberKey, state, message, language, stepName }) =>
        `${memberKey.split('@')[0]} ${state} ${message} ${language} ${stepName}`,
    )
  const redate = async (days: number) => {
    const startTime = inDays(days)
    await rescheduleBatch(api.world.engine, { ...order(1), startTime, allowOverdue: false })
    await api.world.settle()
  }

  it('is listed with message, language, address, time, step and job', async () => {
    const { status, body } = await get('')
    assert.equal(status, 200)
    assert.deepEqual([body.total, body.isTotalExact, body.next], [3, true, null])
    const { sentAt, ...ada } = body.messages[0]!
    assert.match(sentAt!, /^2026-03-02T08:/)
    assert.deepEqual(ada, {
      memberId: 1,
      memberKey: 'ada@contoso.example',
      state: 'sent',
      message: 'notice',
      language: 'de',
      to: 'ada@contoso.example',
      startTime: FIRST,
      correctsTime: null,
      correctedAt: null,
      sentInBatchId: null,
      phaseName: 'announce',
      stepName: 'tell',
      stepId: 1,
      stepStatus: 'succeeded',
      jobId: api.world.jobs[0]!.jobId,
      error: null,
    })
  })

  it('is found by message, language, person and state', async () => {
    assert.deepEqual(await lines('?language=EN&message=Notice'), [
      'kim sent notice en tell',
      'lee sent notice en tell',
    ])
    assert.deepEqual(await lines('?language=fr'), [])
    assert.deepEqual(await lines('?message=moved'), [])
    assert.deepEqual(await lines('?search=EE'), ['lee sent notice en tell'])
    assert.deepEqual(await lines('?memberId=2'), ['kim sent notice en tell'])
    assert.deepEqual(await lines('?state=correction_owed'), [])
    assert.deepEqual(await lines('?state=failed'), ['max failed notice en tell'])
    assert.deepEqual(await lines('?state=failed&message=moved'), [])
    const { body } = await get('?state=failed')
    assert.match(body.messages[0]!.error!, /the mailbox is full/)
    assert.equal(body.messages[0]!.sentAt, null)
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches/1/messages?state=read')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches/1/messages?language=!')
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/messages')
  })

  it('are not sent: the steps to come, for members who are active', async () => {
    const coming = ['ada', 'kim', 'lee'].map((name) => `${name} not_sent notice null remind`)
    assert.deepEqual(await lines('?state=not_sent'), coming)
    assert.deepEqual(await lines('?state=not_sent&sort=id_latest'), coming.toReversed())
    assert.deepEqual(await lines('?state=not_sent&message=moved'), [])
    assert.deepEqual(await lines('?state=not_sent&search=kim'), [coming[1]])
  })

  it('comes in pages, in every order and state', async () => {
    for (const state of ['', '&state=sent', '&state=not_sent'])
      for (const sort of ['id', 'id_latest', 'key']) {
        const found: string[] = []
        let next: string | null = ''
        while (next !== null) {
          const cursor: string = next && `&cursor=${next}`
          const { body }: { body: Page } = await get(`?limit=1&sort=${sort}${state}${cursor}`)
          found.push(...body.messages.map(({ memberKey }) => memberKey.split('@')[0]!))
          next = body.next
        }
        const expected = ['ada', 'kim', 'lee']
        assert.deepEqual(found, sort === 'id_latest' ? expected.toReversed() : expected)
      }
    const { body } = await get('?limit=1')
    const path = `/api/batches/1/messages?state=not_sent&cursor=${body.next}`
    await api.refused(400, 'CURSOR_INVALID', 'GET', path)
  })

  it('is owed a correction from the new date until it is sent', async () => {
    await holdBatch(api.world.engine, order(1))
    await redate(20)
    const owed = ['ada', 'kim', 'lee'].map((name) => `${name} correction_owed notice`)
    const short = async (query: string) =>
      (await lines(query)).map((line) => line.split(' ').slice(0, 3).join(' '))
    assert.deepEqual(await short('?state=correction_owed'), owed)
    assert.deepEqual(await short('?state=sent'), [])
    assert.equal((await get('/counts')).status, 200)
    await resumeBatch(api.world.engine, order(1))
    await api.world.settle()
    assert.deepEqual(await lines('?state=correction_owed'), [])
    assert.deepEqual(await lines('?memberId=1'), [
      'ada sent notice de tell',
      'ada sent moved de tell',
    ])
    const [first, second] = (await get('?memberId=1')).body.messages
    assert.equal(first!.correctedAt, second!.sentAt)
    assert.deepEqual([second!.correctsTime, second!.startTime], [FIRST, SECOND])
    assert.equal(second!.correctedAt, null)
    await api.world.clock.advance(5_000)
    interface Counts {
      messages: { message: string; language: string; sent: number; correctionsOwed: number }[]
      steps: { stepName: string; sent: number; notSent: number; failed: number }[]
    }
    const { body } = await get<Counts>('/counts')
    assert.deepEqual(
      body.messages.map((one) => Object.values(one).slice(0, 5).join(' ')),
      ['notice de 1 0 0', 'notice en 2 0 0', 'moved de 1 1 0', 'moved en 2 2 0'],
    )
    assert.deepEqual(
      body.steps.map(
        ({ stepName, sent, notSent, failed }) => `${stepName} ${sent} ${notSent} ${failed}`,
      ),
      ['tell 3 0 1', 'remind 0 3 0'],
    )
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/messages/counts')
  })

  it('is previewed for a member of the batch, and for a text that nobody published', async () => {
    interface Preview {
      subject: string
      body: string
      to: string
      language: string
      isSample: boolean
      messages: string[]
      problems: { line: number; column: number }[]
    }
    const sentBefore = api.world.jobs.length
    const path = '/api/batches/1/members/2/preview-message'
    const { body } = await api.call<Preview>('GET', `${path}?message=notice&language=de`)
    assert.deepEqual(
      [body.subject, body.body, body.to, body.messages],
      [
        'Ihr Umzug, kim',
        '<p>kim: Sonntag, 22. März 2026, 09:00 MEZ</p>',
        'kim@contoso.example',
        ['notice', 'moved'],
      ],
    )
    // What kim was told last is true, so the correction is shown with a date a week earlier.
    const moved = await api.call<Preview>('GET', `${path}?message=moved`)
    assert.equal(moved.body.body, 'Not Sunday, 15 March 2026 but Sunday, 22 March 2026')
    const draft = '/api/runbooks/wave/preview-message'
    const yamlContent = wave().replace('Your move, {{Name}}', 'Hello {{Name}}')
    const sample = await api.call<Preview>('POST', draft, { body: { yamlContent } })
    assert.deepEqual([sample.body.subject, sample.body.isSample], ['Hello sample value', true])
    const lacking = { yamlContent, member: { Mail: 'x@y.z' } }
    const { body: faulty } = await api.call<Preview>('POST', draft, { body: lacking })
    assert.ok(faulty.problems.length > 0)
    assert.ok(faulty.problems.every(({ line, column }) => line > 1 && column > 1))
    assert.equal(
      (await api.call<Preview>('POST', draft, { body: {} })).body.subject,
      'Your move, sample value',
    )
    assert.equal(api.world.jobs.length, sentBefore)
    await api.refused(404, 'MESSAGE_NOT_FOUND', 'GET', `${path}?message=notise`)
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/members/2/preview-message')
    await api.refused(404, 'MEMBER_NOT_FOUND', 'GET', '/api/batches/1/members/99/preview-message')
    const refuse = (status: number, code: string, to: string, given: object) =>
      api.refused(status, code, 'POST', to, { body: given })
    await refuse(404, 'MESSAGE_NOT_FOUND', draft, { message: 'notise' })
    await refuse(404, 'RUNBOOK_NOT_FOUND', '/api/runbooks/other/preview-message', {})
    await refuse(422, 'RUNBOOK_NAME_DIFFERS', '/api/runbooks/other/preview-message', {
      yamlContent,
    })
    await refuse(422, 'RUNBOOK_INVALID', draft, { yamlContent: 'name: wave' })
  })

  it('stands in the person’s story, and reading it is audited', async () => {
    const { body } = await api.call<{ messages: Line[] }>('GET', '/api/batches/1/members/4')
    assert.deepEqual(
      body.messages.map(({ state, stepName }) => `${state} ${stepName}`),
      ['failed tell'],
    )
    const ada = await api.call<{ messages: Line[] }>('GET', '/api/batches/1/members/1')
    assert.deepEqual(
      ada.body.messages.map(({ state, message }) => `${state} ${message}`),
      ['not_sent notice', 'sent moved', 'sent notice'],
    )
    const audited = await api.world.db.query<{ count: number }>(
      `select count(distinct action)::int as count from audit where action in ('read listMemberMessages', 'read getMember')`,
    )
    assert.equal(audited[0]!.count, 2)
  })
})

covers('countMemberMessages', 'listMemberMessages', 'previewMessage', 'previewRunbookMessage')
