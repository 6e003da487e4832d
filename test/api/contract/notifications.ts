// Notifications over HTTP: the list and its pages, one message, open conditions, channels, and a test that goes the way of every message.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { endDelivery, leaseDue } from '../../../src/db/notifications.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { holdBatch } from '../../../src/engine/batch-actions.ts'
import { lookForConditions } from '../../../src/engine/notifications.ts'
import { order } from '../../scenarios/looking.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { plain } from './fixtures.ts'

const FILE = `
channels:
  - { name: night, type: teams, url_variable: MATOOLKIT_NOTIFY_NIGHT }
  - { name: pager, type: webhook, url_file: u, key_file: k }
rules: [{ conditions: [batch_held], channels: [night] }]
`

interface Shown {
  id: number
  channel: string
  status: string
  error: string | null
  items: { state: string; title: string }[]
}

export function notificationContract(): void {
  describe('notifications', () => {
    let api: ApiUnderTest
    const read = readNotificationSettings(FILE)
    assert.ok('settings' in read)
    const { settings } = read
    before(async () => {
      api = await openApiUnderTest({ options: { channels: settings.channels } })
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
      const attention = await api.call<{ items: { kind: string; command: string }[] }>(
        'GET',
        '/api/attention',
      )
      assert.deepEqual(
        attention.body.items.map(({ kind, command }) => [kind, command]),
        [['channel_failing', 'matoolkit notification test night']],
      )
      await api.call('POST', path)
      await end('sent')
      assert.deepEqual(
        (await channels()).map(({ error }) => error),
        [null, null],
      )
    })

    it('refuses a channel that is not in the file, and an unknown message', async () => {
      const refusal = await api.refused(404, 'CHANNEL_UNKNOWN', 'POST', '/api/channels/nobody/test')
      assert.match(JSON.stringify(refusal), /night, pager/)
      await api.refused(404, 'NOTIFICATION_NOT_FOUND', 'GET', '/api/notifications/999')
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
      const { body } = await api.call<{ conditions: { title: string; channels: string[] }[] }>(
        'GET',
        '/api/conditions',
      )
      assert.deepEqual(
        body.conditions.map(({ title, channels: told }) => [title, told]),
        [[`Batch ${batchId} is held`, ['night']]],
      )
    })
  })
}
