// Notifications over HTTP: the list and its pages, one message, open conditions, channels, and a test that goes the way of every message.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { endDelivery, insertNotification, leaseDue } from '../../../src/db/orders/notifications.ts'
import { testItem } from '../../../src/domain/notifications/message.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { lookForConditions } from '../../../src/engine/needs/notifications.ts'
import { holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import { holdScope, resumeScope } from '../../../src/engine/orders/holds.ts'
import { order } from '../../stories/looking.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

const FILE = `
channels:
  - { name: night, type: teams, url_variable: MATOOLKIT_NOTIFY_NIGHT }
  - { name: pager, type: webhook, url_file: u, key_file: k, digest: 15m, quiet_hours: { from: "22:00", to: "07:30" } }
rules: [{ conditions: [batch_held], channels: [night] }]
`

interface Shown {
  id: number
  channel: string
  status: string
  error: string | null
  items: { state: string; title: string }[]
}

describe('notifications', () => {
  let api: ApiUnderTest
  const read = readNotificationSettings(FILE)
  assert.ok('settings' in read)
  const { settings } = read
  before(async () => {
    api = await openApiUnderTest({ options: { notifications: settings } })
  })
  after(() => api.close())

  const end = async (status: 'sent' | 'failed') => {
    const { db, clock } = api.world
    const now = clock.now()
    const until = new Date(+now + 1_000)
    const [due] = await leaseDue(db, ['night', 'pager'], 'mine', until, now, 1)
    const outcome = status === 'sent' ? { status } : { status, error: 'it answered 404' }
    await db.transaction((tx) => endDelivery(tx, due!.id, 'mine', outcome, now))
  }
  const channels = async () =>
    (await api.call<{ channels: Shown[] }>('GET', '/api/channels')).body.channels

  it('sends a test to a channel, and says which channel fails until one arrives', async () => {
    const path = '/api/channels/night/test'
    const { status, body } = await api.call<Shown>('POST', path)
    assert.equal(status, 202)
    assert.deepEqual([body.status, body.items[0]!.state], ['waiting', 'test'])
    await end('failed')
    const shown = await api.call<Shown>('GET', `/api/notifications/${body.id}`)
    assert.deepEqual([shown.body.status, shown.body.error], ['failed', 'it answered 404'])
    assert.deepEqual(
      (await channels()).map(({ error }) => error),
      ['it answered 404', null],
    )
    const { body: found } = await api.call<{ needs: { kind: string; command: string }[] }>(
      'GET',
      '/api/needs',
    )
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/needs?batchId=99')
    assert.deepEqual(
      found.needs.map(({ kind, command }) => [kind, command]),
      [['channel_failing', 'matoolkit notification test night']],
    )
    await api.call('POST', path)
    await end('sent')
    assert.deepEqual(
      (await channels()).map(({ error }) => error),
      [null, null],
    )
    const [night, pager] = (await channels()) as unknown as Record<string, unknown>[]
    const now = api.world.clock.now().toISOString()
    assert.deepEqual([night!.lastSentAt, night!.waiting, night!.quietHours], [now, 0, null])
    assert.deepEqual([pager!.lastSentAt, pager!.digestSec, pager!.timeZone], [null, 900, 'UTC'])
    assert.deepEqual(Object.values(pager!.quietHours as object).slice(1), ['22:00', '07:30'])
  })

  it('counts a channel as failing that does not take a message in three attempts', async () => {
    const { db, clock } = api.world
    const items = [testItem('pager', 'ada', clock.now())]
    const message = { messageId: 'x', channel: 'pager', items, leftOut: 0, isGathering: false }
    const id = await insertNotification(db, { ...message, dueAt: clock.now() }, clock.now())
    const waiting = {
      status: 'waiting',
      error: 'it answered 503',
      mayHaveArrived: false,
    } as const
    const fail = () =>
      db.transaction(async (tx) => {
        const now = clock.now()
        await leaseDue(tx, ['pager'], 'mine', new Date(+now + 1_000), now, 1)
        assert.ok(await endDelivery(tx, id, 'mine', { ...waiting, dueAt: now }, now))
      })
    await fail()
    await fail()
    assert.equal((await channels())[1]!.error, null)
    await fail()
    assert.equal((await channels())[1]!.error, 'it answered 503')
    await db.query('delete from notifications where id = $1', [id])
    assert.equal((await channels())[1]!.error, null)
  })

  it('lists the rules of the file and of active runbooks', async () => {
    const { world } = api
    await world.publish(
      `${plain('told')}\nnotifications: [{ conditions: [review_waiting], channels: [pager] }]`,
    )
    const { body } = await api.call<{ rules: object[]; urgent: string[] }>('GET', '/api/channels')
    assert.deepEqual(body.rules, [
      { from: 'settings', conditions: ['batch_held'], channels: ['night'], runbooks: null },
      {
        from: 'runbook',
        conditions: ['review_waiting'],
        channels: ['pager'],
        runbooks: ['told'],
      },
    ])
    assert.ok(body.urgent.includes('failure_limit'))
  })

  it('refuses a channel that is not in the file, and an unknown message', async () => {
    const refusal = await api.refused(404, 'CHANNEL_UNKNOWN', 'POST', '/api/channels/nobody/test')
    assert.match(JSON.stringify(refusal), /night, pager/)
    await api.refused(404, 'NOTIFICATION_NOT_FOUND', 'GET', '/api/notifications/999')
  })

  it('says who takes care of a need, and refuses one that is not there or ends with its cause', async () => {
    const body = { key: 'stuck:9', owner: 'ben', reason: 'asks the vendor' }
    const none = await api.refused(409, 'REFUSED', 'POST', '/api/needs', { body })
    assert.match(JSON.stringify(none.body), /no need has the key stuck:9 now/)
    const { engine } = api.world
    await holdScope(engine, { scope: 'system', target: '', actor: 'ann', reason: 'mail bounces' })
    const all = await api.call<{ needs: { key: string }[] }>('GET', '/api/needs')
    const { key } = all.body.needs[0]!
    const owned = await api.call<{ decision: object }>('POST', '/api/needs', {
      body: { ...body, key },
    })
    assert.partialDeepStrictEqual(owned.body.decision, { owner: 'ben', isAccepted: false })
    const accept = { key, isAccepted: true, reason: 'x' }
    await api.refused(409, 'REFUSED', 'POST', '/api/needs', { body: accept })
    const { body: after } = await api.call<{ headline: string }>('GET', '/api/needs')
    assert.match(after.headline, /^Action needed: The whole system .*; ben takes care of it\.$/)
    await resumeScope(engine, { scope: 'system', target: '', actor: 'ann', reason: 'flows' })
  })

  it('pages through messages and open conditions', async () => {
    const first = await api.call<{ notifications: Shown[]; next: string }>(
      'GET',
      '/api/notifications?limit=1',
    )
    const cursor = encodeURIComponent(first.body.next)
    const second = await api.call<{ notifications: Shown[]; next: null }>(
      'GET',
      `/api/notifications?limit=1&cursor=${cursor}`,
    )
    const found = [first, second].flatMap(({ body }) => body.notifications)
    assert.deepEqual(
      found.map(({ id, status }) => [id, status]),
      [
        [2, 'sent'],
        [1, 'failed'],
      ],
    )
    assert.equal(second.body.next, null)
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/notifications?cursor=x')
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/conditions?cursor=x')
    const { world } = api
    await world.publish(plain())
    const batchId = await world.batch('plain', 1, { startsInMin: 600, manual: true })
    await holdBatch(world.engine, order(batchId))
    await lookForConditions({ engine: world.engine, settings, newId: () => 'm-1' })
    const { body } = await api.call<{
      conditions: { title: string; channels: string[]; messages: object[] }[]
    }>('GET', '/api/conditions')
    assert.deepEqual(
      body.conditions.map(({ title, channels: told }) => [title, told]),
      [[`Batch ${batchId} is held`, ['night']]],
    )
    const [message] = body.conditions[0]!.messages as { channel: string; status: string }[]
    assert.deepEqual([message!.channel, message!.status], ['night', 'waiting'])
    assert.equal(body.conditions[0]!.messages.length, 1)
  })
})

covers(
  'getNotification',
  'decideNeed',
  'listNeeds',
  'listChannels',
  'listConditions',
  'listNotifications',
  'testChannel',
)
