// Notifications end to end: a condition in the state, one message per channel over a real connection, cleared once.
import assert from 'node:assert/strict'
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import {
  insertNotification,
  listFailingChannels,
  listNotifications,
} from '../../../src/db/orders/notifications.ts'
import { testItem } from '../../../src/domain/notifications/message.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import type { NotificationSettings } from '../../../src/domain/notifications/rules.ts'
import { lookForConditions } from '../../../src/engine/needs/notifications.ts'
import { openMailCertificates } from '../../../src/engine/notify/mail-certificates.ts'
import { pruneOld, type SenderOptions, sendDue } from '../../../src/engine/notify/sender.ts'
import { readKey, signedHeaders } from '../../../src/engine/notify/signature.ts'
import { holdBatch, resumeBatch } from '../../../src/engine/orders/batch-actions.ts'
import { approveGate, withdrawDecision } from '../../../src/engine/orders/gates.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { openReceiver, type Receiver } from '../../kit/receiver.ts'
import { order, runbook, step } from '../../stories/looking.ts'
import { story, type World } from '../../stories/world.ts'

const KEY = Buffer.alloc(32, 7)
let receiver: Receiver
let folder: string

before(async () => {
  receiver = await openReceiver()
  folder = mkdtempSync(join(tmpdir(), 'notify-'))
  writeFileSync(join(folder, 'teams'), `${receiver.url}/teams?sig=secret\n`)
  writeFileSync(join(folder, 'hook'), `${receiver.url}/hook`)
  writeFileSync(join(folder, 'key'), `whsec_${KEY.toString('base64')}`)
  writeFileSync(join(folder, 'secret'), 'app-secret')
})
after(async () => {
  await receiver.close()
  rmSync(folder, { recursive: true })
})

const settingsOf = (yaml: string): NotificationSettings => {
  const read = readNotificationSettings(yaml.replaceAll('$', folder))
  assert.ok('settings' in read, JSON.stringify(read))
  return read.settings
}

const TEAMS = '{ name: night, type: teams, url_file: $/teams, time_zone: Europe/Berlin }'
const HOOK = '{ name: pager, type: webhook, url_file: $/hook, key_file: $/key }'

/** An orchestrator's part in notifications; several may share a world. */
function orchestrator(world: World, settings: NotificationSettings) {
  const failures: string[] = []
  const options: SenderOptions = {
    db: world.db,
    clock: world.clock,
    channels: settings.channels,
    tokens: { get: async (_, refused) => (refused ? 'renewed' : 'token') },
    certificates: openMailCertificates({
      clock: world.clock,
      log: { info: () => {}, warn: () => {} },
      readVault: () => Promise.reject(new Error('there is no vault')),
    }),
    graph: { url: receiver.url, scope: `${receiver.url}/.default` },
    newToken: randomUUID,
    onFailed: ({ error }) => failures.push(error),
  }
  const look = () => lookForConditions({ engine: world.engine, settings, newId: randomUUID })
  const send = () => sendDue(options, new AbortController().signal)
  return { options, failures, look, send, run: async () => [await look(), await send()] }
}

async function begin(world: World): Promise<number> {
  receiver.arrived.length = 0
  receiver.answers.length = 0
  world.answer = () => 'silent'
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
  const batchId = await world.batch('wave', 12, { startsInMin: 60 })
  await world.orchestrate()
  return batchId
}

/** Eleven of twelve people fail. */
async function blow(world: World): Promise<void> {
  await world.work()
  for (const job of world.jobs.slice(0, 11)) await world.result(job, { fail: 'no licence' })
  await world.orchestrate()
}

type Verify = (
  headers: Record<string, string>,
  body: string,
  secret: string,
  seen: Set<string>,
  nowMs: number,
) => unknown

/** A receiver as the text of Standard Webhooks 1.0 describes it: any of several signatures counts, other versions are passed over. */
const verifyByStandard: Verify = (headers, body, secret, seen, nowMs) => {
  const id = headers['webhook-id']!
  const timestamp = headers['webhook-timestamp']!
  assert.match(timestamp, /^[1-9][0-9]*$/)
  if (Math.abs(Math.floor(nowMs / 1_000) - Number(timestamp)) > 5 * 60) throw new Error('too old')
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(body)])
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(signed).digest()
  const isSigned = headers['webhook-signature']!.split(' ').some((one) => {
    const [version, signature = ''] = one.split(',', 2)
    const bytes = Buffer.from(signature, 'base64')
    return version === 'v1' && bytes.length === 32 && timingSafeEqual(bytes, expected)
  })
  if (!isSigned) throw new Error('forged')
  if (seen.has(id)) return null
  seen.add(id)
  return JSON.parse(body)
}

/** The function that docs/notifications.md gives to receivers. */
async function verifyOfDocs(): Promise<Verify> {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/notifications.md'), 'utf8')
  const code = /```js\n([\s\S]*?)```/.exec(text)![1]!
  const module = `${code}\nexport { verify }`
  const loaded = await import(`data:text/javascript,${encodeURIComponent(module)}`)
  return loaded.verify
}

const bodies = () => receiver.arrived.map(({ body }) => JSON.parse(body))

it('tells of a blown failure limit with one card, and of its end with one', () =>
  story({}, async (world) => {
    const settings = settingsOf(
      `{ channels: [${TEAMS}], rules: [{ conditions: [failure_limit], channels: [night] }] }`,
    )
    const one = orchestrator(world, settings)
    const batchId = await begin(world)
    await one.run()
    await blow(world)
    await world.clock.advance(10_000)
    assert.deepEqual(await one.run(), [{ opened: 1, cleared: 0 }, 1])
    for (let look = 0; look < 3; look += 1) {
      await world.clock.advance(10_000)
      assert.deepEqual(await one.run(), [{ opened: 0, cleared: 0 }, 0])
    }
    const [card] = bodies()
    assert.equal(card.attachments[0].contentType, 'application/vnd.microsoft.card.adaptive')
    const [title, text, { facts }] = card.attachments[0].content.body
    assert.equal(title.text, `Batch ${batchId} is held: too many failures`)
    assert.equal(
      text.text,
      'Batch 1 is held by the fuse since 09:00 CET: 11 of 12 members failed in phase prepare: more than 30 %.',
    )
    assert.deepEqual(facts, [
      { title: 'Runbook', value: 'wave' },
      { title: 'Batch', value: String(batchId) },
      { title: 'Since', value: '09:00 CET' },
      { title: 'Next', value: `matoolkit failures ${batchId}` },
    ])
    await resumeBatch(world.engine, order(batchId))
    await world.clock.advance(10_000)
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 1 }, 1])
    await world.clock.advance(10_000)
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 0 }, 0])
    assert.equal(receiver.arrived.length, 2)
    assert.match(receiver.arrived[1]!.body, /Cleared: Batch \d+ is held/)
    const events = await world.db.query<{ event: string }>(
      `select event from events where event like 'condition%' order by id`,
    )
    assert.deepEqual(
      events.map(({ event }) => event),
      ['condition_opened', 'condition_cleared'],
    )
  }))

it('tells a day before that a gate lacks approvals, and at its time that it holds the batch', () =>
  story({}, async (world) => {
    receiver.arrived.length = 0
    const settings = settingsOf(
      `{ channels: [${HOOK}], rules: [{ conditions: [gate_waiting, batch_held], channels: [pager] }] }`,
    )
    const one = orchestrator(world, settings)
    await world.publish(runbook('wave', { 'cutover T-0 gate: { approvals: 1 }': [step('switch')] }))
    const batchId = await world.batch('wave', 2, { startsInMin: 25 * 60 })
    await world.settle()
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 0 }, 0])
    await world.pass(2 * 3_600)
    assert.deepEqual(await one.run(), [{ opened: 1, cleared: 0 }, 1])
    assert.match(receiver.arrived[0]!.body, /0 of 1 approvals for the start.*needs approval/)
    const approval = { ...order(batchId), actor: 'ben', phaseName: 'cutover' }
    await approveGate(world.engine, approval)
    await world.pass(10)
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 1 }, 1])
    await withdrawDecision(world.engine, { ...approval, kind: 'approval' })
    await world.pass(10)
    await one.run()
    await world.pass(22 * 3_600 + 1_800)
    assert.deepEqual(await one.run(), [{ opened: 1, cleared: 0 }, 1], 'half an hour before')
    await world.pass(3_600)
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 0 }, 0], 'held, which is no news')
    const states = bodies().map(({ data }) => data.items[0].state)
    assert.deepEqual(states, ['open', 'cleared', 'open', 'open'])
    const last = receiver.arrived.at(-1)!.body
    assert.match(last, /has 0 of 1 approvals for the start at .*; without them the batch is held/)
    assert.match(last, new RegExp(`matoolkit batch get ${batchId} --gates`))
    assert.deepEqual(world.jobs, [])
  }))

it('sends one message id although two orchestrators die at the fuse', () =>
  story({}, async (world) => {
    const settings = settingsOf(`{ channels: [${HOOK}], rules: [{ channels: [pager] }] }`)
    await begin(world)
    const [first, second, third] = [1, 2, 3].map(() => orchestrator(world, settings))
    await first!.run()
    await blow(world)
    await world.clock.advance(10_000)
    // The first dies in the transaction that opens the condition: neither condition nor message is there.
    const dying = { ...world.engine, db: { ...world.db, query: world.db.query.bind(world.db) } }
    dying.db.transaction = (work) =>
      world.db.transaction(async (tx) => {
        await work(tx)
        throw new Error('killed')
      })
    const killed = lookForConditions({ engine: dying, settings, newId: randomUUID })
    await assert.rejects(killed, /killed/)
    assert.deepEqual(await listNotifications(world.db, {}, 10), [])
    // The second opens it, sends, and dies before it writes that down.
    await second!.look()
    const deaf = { ...second!.options, db: { ...dying.db } }
    await assert.rejects(sendDue(deaf, new AbortController().signal), /killed/)
    assert.equal(receiver.arrived.length, 1)
    // The third waits for the lease and sends the same message again.
    await third!.run()
    assert.equal(receiver.arrived.length, 1)
    await world.clock.advance(61_000)
    await third!.run()
    await third!.run()
    const held = receiver.arrived.filter(({ body }) => body.includes('failure_limit'))
    assert.equal(held.length, 2)
    assert.equal(new Set(held.map(({ headers }) => headers['webhook-id'])).size, 1)
    const sent = await listNotifications(world.db, { status: 'sent' }, 10)
    const ofFuse = sent.filter(({ items }) => items[0]!.kind === 'failure_limit')
    assert.equal(ofFuse.length, 1)
  }))

it('opens, sends and clears once while four orchestrators race on a server', async () =>
  story({ database: await openTestPostgres() }, async (world) => {
    const settings = settingsOf(
      `{ channels: [${HOOK}], rules: [{ conditions: [failure_limit], channels: [pager] }] }`,
    )
    const four = [1, 2, 3, 4].map(() => orchestrator(world, settings))
    const race = async () => {
      await Promise.all(four.map(({ look }) => look()))
      await Promise.all(four.map(({ send }) => send()))
      await Promise.all(four.map(({ run }) => run()))
    }
    const batchId = await begin(world)
    await race()
    await blow(world)
    await world.clock.advance(10_000)
    await race()
    await resumeBatch(world.engine, order(batchId))
    await world.clock.advance(10_000)
    await race()
    assert.deepEqual(
      bodies().map(({ data }) => data.items[0].state),
      ['open', 'cleared'],
    )
  }))

it('signs a webhook as the standard asks, and a replay, an old and a changed one are recognised', () =>
  story({}, async (world) => {
    const settings = settingsOf(
      `{ channels: [${HOOK}], rules: [{ conditions: [batch_held], channels: [pager] }] }`,
    )
    const one = orchestrator(world, settings)
    const batchId = await begin(world)
    await holdBatch(world.engine, order(batchId))
    await one.run()
    const [{ headers, body }] = receiver.arrived as [(typeof receiver.arrived)[0]]
    const id = headers['webhook-id']
    const time = headers['webhook-timestamp']
    assert.equal(Number(time), Math.floor(+world.clock.now() / 1_000))
    const secret = `whsec_${KEY.toString('base64')}`
    const nowMs = +world.clock.now()
    const given = headers as Record<string, string>
    for (const verify of [verifyByStandard, await verifyOfDocs()]) {
      const seen = new Set<string>()
      const check = (more: object = {}, at = nowMs, text = body) =>
        verify({ ...given, ...more }, text, secret, seen, at)
      assert.throws(() => check({}, nowMs, body.replace('open', 'test')), /forged/)
      assert.throws(() => check({ 'webhook-id': 'another' }), /forged/)
      assert.throws(() => check({ 'webhook-timestamp': String(Number(time) + 1) }), /forged/)
      for (const late of [301_000, -301_000])
        assert.throws(() => check({}, nowMs + late), /too old/)
      const other = { 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` }
      assert.throws(() => check(other), /forged/)
      assert.equal((check() as { data: { number: number } }).data.number, 1)
      assert.equal(check(), null, 'a replay')
    }
    assert.match(id as string, /^[^.]+$/)
    const { data } = JSON.parse(body)
    assert.equal(data.items[0].batchId, batchId)
    assert.equal(data.items[0].state, 'open')
  }))

it('gives the signature of the reference example of Standard Webhooks', () => {
  const key = readKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')!
  const at = new Date(1_614_265_330_000)
  const headers = signedHeaders(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', '{"test": 2432232314}', at)
  assert.equal(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  assert.equal(readKey('c2hvcnQ='), null)
})

it('tries again after Retry-After, lets "cleared" wait behind, and keeps the id', () =>
  story({}, async (world) => {
    const settings = settingsOf(
      `{ channels: [${HOOK}], rules: [{ conditions: [batch_held], channels: [pager] }] }`,
    )
    const one = orchestrator(world, settings)
    const batchId = await begin(world)
    await holdBatch(world.engine, order(batchId))
    receiver.answers.push({ status: 429, headers: { 'retry-after': '120' } })
    await one.run()
    await resumeBatch(world.engine, order(batchId))
    await world.clock.advance(110_000)
    await one.run()
    assert.equal(receiver.arrived.length, 1)
    await world.clock.advance(11_000)
    await one.run()
    await one.run()
    const states = bodies().map(({ data }) => data.items[0].state)
    assert.deepEqual(states, ['open', 'open', 'cleared'])
    const ids = receiver.arrived.map(({ headers }) => headers['webhook-id'])
    assert.equal(ids[0], ids[1])
    assert.notEqual(ids[1], ids[2])
    assert.deepEqual(await listFailingChannels(world.db), [])
  }))

it('sends what waits for another attempt as soon as a test arrives', () =>
  story({}, async (world) => {
    const settings = settingsOf(
      `{ channels: [${HOOK}], rules: [{ conditions: [batch_held], channels: [pager] }] }`,
    )
    const one = orchestrator(world, settings)
    const batchId = await begin(world)
    await holdBatch(world.engine, order(batchId))
    receiver.answers.push({ status: 503, headers: { 'retry-after': '900' } })
    await one.run()
    const now = world.clock.now()
    const items = [testItem('pager', 'ada', now)]
    const test = { messageId: 'test-1', channel: 'pager', items, leftOut: 0, isGathering: false }
    await insertNotification(world.db, { ...test, dueAt: now }, now)
    await one.send()
    await one.send()
    const states = bodies().map(({ data }) => data.items[0].state)
    assert.deepEqual(states, ['open', 'test', 'open'])
    assert.equal(await one.send(), 0)
  }))

it('ends as a visible failure when the receiver refuses, without its address', () =>
  story({}, async (world) => {
    const settings = settingsOf(
      `{ channels: [${TEAMS}], rules: [{ conditions: [batch_held], channels: [night] }] }`,
    )
    const one = orchestrator(world, settings)
    const batchId = await begin(world)
    await holdBatch(world.engine, order(batchId))
    receiver.answers.push({ status: 404 })
    await one.run()
    assert.equal(one.failures.length, 1)
    assert.match(one.failures[0]!, /^127\.0\.0\.1:\d+ answered 404: not now$/)
    const [failing] = await listFailingChannels(world.db)
    assert.equal(failing!.channel, 'night')
    const [event] = await world.db.query<{ because: string }>(
      `select because from events where event = 'notification_failed'`,
    )
    assert.match(event!.because, /matoolkit notification test night/)
    const all = JSON.stringify(await world.db.query('select * from notifications'))
    assert.doesNotMatch(all, /sig=secret/)
    await world.clock.advance(3_600_000)
    await one.send()
    assert.equal(receiver.arrived.length, 1)
  }))

it('collects what is not urgent, and lets the urgent pass', () =>
  story({}, async (world) => {
    const channel = HOOK.replace('name:', 'digest: 15m, name:')
    const rules =
      'rules: [{ conditions: [batch_held, phase_ended, batch_ended], channels: [pager] }]'
    const one = orchestrator(world, settingsOf(`{ channels: [${channel}], ${rules} }`))
    await begin(world)
    await one.run()
    await world.clock.advance(1_000)
    world.answer = () => ({ ok: {} })
    await world.work()
    await world.settle()
    const held = await world.batch('wave', 1, { startsInMin: 600 })
    await holdBatch(world.engine, order(held))
    await world.clock.advance(10_000)
    assert.deepEqual(await one.run(), [{ opened: 3, cleared: 0 }, 1])
    assert.equal(bodies()[0].data.items[0].kind, 'batch_held')
    await world.clock.advance(14 * 60_000)
    await one.run()
    assert.equal(receiver.arrived.length, 1)
    await world.clock.advance(60_000)
    await one.run()
    const kinds = bodies()[1].data.items.map(({ kind }: { kind: string }) => kind)
    assert.deepEqual(kinds, ['phase_ended', 'batch_ended'])
    await world.clock.advance(3_600_000)
    await one.run()
    assert.equal(receiver.arrived.length, 2)
  }))

it("follows the runbook's own rules, and sends mail through Graph", () =>
  story({}, async (world) => {
    const app =
      'tenant_id: 11111111-1111-4111-8111-111111111111, client_id: 22222222-2222-4222-8222-222222222222, secret_file: $/secret'
    const mail = `{ name: leads, type: mail, from: ops@contoso.com, to: [lead@contoso.com], ${app} }`
    const one = orchestrator(world, settingsOf(`{ channels: [${mail}] }`))
    receiver.arrived.length = 0
    const rules = 'notifications: [{ conditions: [batch_held], channels: [leads, unknown] }]'
    const phases = { 'prepare T-1h': [step('create')] }
    await world.publish(runbook('told', phases, rules))
    await world.publish(runbook('silent', phases))
    const told = await world.batch('told', 1, { startsInMin: 600 })
    const silent = await world.batch('silent', 1, { startsInMin: 600 })
    for (const batchId of [told, silent]) await holdBatch(world.engine, order(batchId))
    assert.deepEqual(await one.run(), [{ opened: 1, cleared: 0 }, 1])
    const [{ path, headers, body }] = receiver.arrived as [(typeof receiver.arrived)[0]]
    assert.equal(path, '/v1.0/users/ops%40contoso.com/sendMail')
    assert.equal(headers.authorization, 'Bearer token')
    const { message } = JSON.parse(body)
    assert.equal(message.subject, `[matoolkit] Batch ${told} is held`)
    assert.match(message.body.content, new RegExp(`Next: matoolkit resume --batch ${told}`))
    assert.deepEqual(message.toRecipients, [{ emailAddress: { address: 'lead@contoso.com' } }])
    await resumeBatch(world.engine, order(told))
    await world.clock.advance(10_000)
    receiver.answers.push({ status: 401 })
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 1 }, 1])
    const tokens = receiver.arrived.map((one) => one.headers.authorization)
    assert.deepEqual(tokens, ['Bearer token', 'Bearer token', 'Bearer renewed'])
    assert.deepEqual(one.failures, [])
  }))

it('tells of dead letters until somebody decides about them, without asking the broker', () =>
  story({}, async (world) => {
    const settings = settingsOf(
      `{ channels: [${HOOK}], rules: [{ conditions: [dead_letters], channels: [pager] }] }`,
    )
    await begin(world)
    const down = () => Promise.reject(new Error('the broker is down'))
    const bus = { ...world.engine.bus, depth: down }
    const one = orchestrator({ ...world, engine: { ...world.engine, bus } }, settings)
    await world.result({ jobId: 'foreign' }, { ok: {} })
    await world.bus.deadLetter(await world.bus.receive(WORKER_RESULTS, 10), 'Unreadable', 'x')
    assert.deepEqual(await one.run(), [{ opened: 1, cleared: 0 }, 1])
    assert.equal(bodies()[0].data.items[0].command, 'matoolkit deadletters list')
    await world.db.query(`update dead_letters set discarded_at = $1, discarded_by = 'ada'`, [
      world.clock.now(),
    ])
    await world.clock.advance(10_000)
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 1 }, 1])
  }))

it('deletes what ended a month ago, and nothing that is open', () =>
  story({}, async (world) => {
    const settings = settingsOf(
      `{ channels: [${HOOK}], rules: [{ conditions: [batch_held], channels: [pager] }] }`,
    )
    const one = orchestrator(world, settings)
    const batchId = await begin(world)
    await holdBatch(world.engine, order(batchId))
    await one.run()
    await world.clock.advance(31 * 86_400_000)
    assert.equal(await pruneOld(one.options), 1)
    const [{ open }] = (await world.db.query<{ open: number }>(
      'select count(*)::int as open from notification_conditions where cleared_at is null',
    )) as [{ open: number }]
    assert.equal(open, 1)
    assert.deepEqual(await one.run(), [{ opened: 0, cleared: 0 }, 0])
  }))
