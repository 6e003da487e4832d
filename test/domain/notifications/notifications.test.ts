// Channels, rules, quiet hours and texts, without a database.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { holdNeed, stuckNeeds } from '../../../src/domain/needs/from-work.ts'
import { needCondition } from '../../../src/domain/notifications/conditions.ts'
import { itemOf, plainText, teamsEnvelope } from '../../../src/domain/notifications/message.ts'
import {
  type QuietHours,
  quietUntil,
  WEEKDAYS,
} from '../../../src/domain/notifications/quiet-hours.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { channelsFor, sendAt } from '../../../src/domain/notifications/rules.ts'

const AT = new Date('2026-11-16T23:30:00Z')

const problemsOf = (yaml: string): string[] => {
  const read = readNotificationSettings(yaml)
  assert.ok('problems' in read, 'it was taken')
  return read.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

it('reports every mistake with line and column, and never a secret', () => {
  const problems = problemsOf(`channels:
  - { name: night, type: teams, url_variable: "https://secret.example/x" }
  - { name: pager, type: webhook, url_file: u }
  - { name: leads, type: mail, from: me, to: [] }
`)
  assert.deepEqual(
    problems.map((one) => one.split(' ')[0]),
    ['2:47', '4:38', '4:46'],
  )
  assert.match(problems[0]!, /starts with MATOOLKIT_NOTIFY_; never the value itself/)
  assert.doesNotMatch(problems.join(), /secret\.example/)
  assert.match(problemsOf('channels: [')[0]!, /^1:1[12] /)
  assert.match(
    problemsOf('channels: [{ name: a, type: sms }]')[0]!,
    /needs a type: teams, mail or webhook/,
  )
})

it('reports what does not fit together', () => {
  const problems = problemsOf(`channels:
  - { name: night, type: teams }
  - { name: night, type: webhook, url_file: u, key_file: k }
  - { name: leads, type: mail, from: a@x.example, to: [b@x.example], client_id: 22222222-2222-4222-8222-222222222222 }
rules:
  - channels: [nobody]
`)
  assert.deepEqual(
    problems.map((one) => one.replace(/^(\d+:\d+) \S+ /, '$1 ')),
    [
      '2:5 needs either url_variable or url_file',
      '3:13 "night" is there twice',
      '4:5 needs tenant_id, client_id and one of secret_variable, secret_file, certificate_file, certificate_name, or none of them: then the identity of the process sends',
      '6:15 "nobody" is not a channel of this file. Use night, night, leads',
    ],
  )
})

it('takes one proof of a mail app, and a password only for a certificate file', () => {
  const ids =
    'tenant_id: 11111111-1111-4111-8111-111111111111, client_id: 22222222-2222-4222-8222-222222222222'
  const of = (keys: string) => `channels:
  - { name: leads, type: mail, from: a@x.example, to: [b@x.example], ${keys} }
`
  const refused = {
    [`secret_file: s, certificate_file: c, ${ids}`]:
      '2:104 channels[0].certificate_file: does not go together with secret_file. Keep one of them',
    [`certificate_name: c, certificate_password_file: p, ${ids}`]:
      '2:118 channels[0].certificate_password_file: is of a certificate_file, and there is none',
    [`certificate_file: c, certificate_password_file: p, certificate_password_variable: MATOOLKIT_NOTIFY_P, ${ids}`]:
      '2:118 channels[0].certificate_password_file: does not go together with certificate_password_variable. Keep one of them',
    [`certificate_name: "c d", ${ids}`]:
      '2:88 channels[0].certificate_name: must be the name of a certificate in Key Vault: letters, digits and "-"',
  }
  for (const [keys, problem] of Object.entries(refused))
    assert.deepEqual(problemsOf(of(keys)), [problem])
  assert.match(problemsOf(of('certificate_file: c'))[0]!, /^2:5 .* needs tenant_id, client_id and/)
  const read = readNotificationSettings(
    of(`certificate_file: c, certificate_password_variable: MATOOLKIT_NOTIFY_P, ${ids}`),
  )
  assert.ok('settings' in read)
  const [channel] = read.settings.channels
  assert.ok(channel?.type === 'mail' && channel.app && 'certificate' in channel.app)
  assert.deepEqual(channel.app.certificate, {
    at: { file: 'c' },
    password: { variable: 'MATOOLKIT_NOTIFY_P' },
  })
})

it('ends quiet hours by the clock on the wall, also where it changes', () => {
  const night = { days: ['sat'], fromMin: 22 * 60, toMin: 6 * 60 } as const
  const until = (at: string) => quietUntil(night, 'Europe/Berlin', new Date(at)).toISOString()
  // Saturday 23:00 to Sunday 06:00; on 29 March the hour from two to three does not exist, on 25 October there are two.
  assert.equal(until('2026-03-28T22:00:00Z'), '2026-03-29T04:00:00.000Z')
  assert.equal(until('2026-10-24T21:00:00Z'), '2026-10-25T05:00:00.000Z')
  assert.equal(until('2026-11-15T04:59:00Z'), '2026-11-15T05:00:00.000Z')
  assert.equal(until('2026-11-15T05:00:00Z'), '2026-11-15T05:00:00.000Z')
  assert.equal(until('2026-11-14T20:59:00Z'), '2026-11-14T20:59:00.000Z')
  assert.equal(until('2026-11-13T23:00:00Z'), '2026-11-13T23:00:00.000Z')
})

it('ends quiet hours with the first minute that is not quiet, on every day that the clock changes', () => {
  const MINUTE_MS = 60_000
  const wall = (zone: string, at: number) => {
    const options = { timeZone: zone, weekday: 'short', timeStyle: undefined } as const
    const text = new Intl.DateTimeFormat('en-GB', {
      ...options,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    }).format(new Date(at))
    const [, day, hour, minute] = /^(\w+),? (\d\d):(\d\d)$/.exec(text)!
    return { day: WEEKDAYS.indexOf(day!.toLowerCase() as 'mon'), min: +hour! * 60 + +minute! }
  }
  const isQuiet = ({ days, fromMin, toMin }: QuietHours, zone: string, at: number) => {
    const { day, min } = wall(zone, at)
    const begins = (one: number) => days.includes(WEEKDAYS[(one + 7) % 7]!)
    return toMin > fromMin
      ? begins(day) && min >= fromMin && min < toMin
      : (begins(day) && min >= fromMin) || (begins(day - 1) && min < toMin)
  }
  const all = { days: WEEKDAYS, fromMin: 22 * 60, toMin: 150 }
  const cases: [zone: string, change: string, quiet: QuietHours][] = [
    ['Europe/Berlin', '2026-03-29T01:00Z', all],
    ['Europe/Berlin', '2026-10-25T01:00Z', all],
    ['Europe/Berlin', '2026-10-25T01:00Z', { ...all, toMin: 180 }],
    ['America/New_York', '2026-03-08T07:00Z', { days: ['sun'], fromMin: 60, toMin: 150 }],
    ['Africa/Cairo', '2026-04-23T22:00Z', { ...all, toMin: 0 }],
    ['Africa/Cairo', '2026-04-23T22:00Z', { ...all, toMin: 30 }],
    ['Australia/Lord_Howe', '2026-10-03T15:30Z', { ...all, toMin: 135 }],
  ]
  let moved = 0
  for (const [zone, change, quiet] of cases) {
    for (let hour = -9; hour <= 3; hour += 0.75) {
      const now = Date.parse(change) + hour * 60 * MINUTE_MS
      const end = +quietUntil(quiet, zone, new Date(now))
      const said = `${zone} ${new Date(now).toISOString()} to ${new Date(end).toISOString()}`
      assert.equal(isQuiet(quiet, zone, end), false, said)
      assert.equal(end > now, isQuiet(quiet, zone, now), said)
      if (end === now) continue
      moved += 1
      for (let at = now; at < end; at += 5 * MINUTE_MS)
        assert.ok(isQuiet(quiet, zone, at), `${said} at ${new Date(at).toISOString()}`)
      assert.ok(isQuiet(quiet, zone, end - MINUTE_MS), said)
    }
  }
  assert.ok(moved >= 20, String(moved))
})

it('collects for real minutes across a change of the clock, and then waits for the quiet hours', () => {
  const read = readNotificationSettings(
    '{ channels: [{ name: a, type: teams, url_file: u, time_zone: Europe/Berlin, digest: 2h, quiet_hours: { from: "02:00", to: "04:00" } }] }',
  )
  assert.ok('settings' in read)
  const due = (at: string) => sendAt(read.settings.channels[0]!, false, new Date(at)).toISOString()
  // 01:30 and two hours are 04:30: the hour from two to three is missing.
  assert.equal(due('2026-03-29T00:30:00Z'), '2026-03-29T02:30:00.000Z')
  // 01:30 and two hours are the second 02:30: it waits until four.
  assert.equal(due('2026-10-24T23:30:00Z'), '2026-10-25T03:00:00.000Z')
})

it('joins quiet days that follow each other', () => {
  const weekend = { days: ['sat', 'sun'], fromMin: 0, toMin: 0 } as const
  const end = quietUntil(weekend, 'UTC', new Date('2026-11-14T10:00:00Z'))
  assert.equal(end.toISOString(), '2026-11-16T00:00:00.000Z')
})

const HOLD = {
  scope: 'batch',
  target: '7',
  batchId: null,
  memberId: null,
  memberKey: null,
  heldAt: new Date('2026-11-16T23:10:00Z'),
  heldBy: 'ada',
  reason: 'see [here](https://evil.example)',
} as const

const heldIn = (runbookName: string) =>
  needCondition(holdNeed(HOLD, { batchIds: [7], runbookNames: [runbookName] })!)!

it('tells the channels of matching rules once, and holds back what is not urgent', () => {
  const read = readNotificationSettings(`
channels:
  - { name: a, type: teams, url_file: u, digest: 10m, quiet_hours: { from: "23:00", to: "06:00" } }
  - { name: b, type: teams, url_file: u }
rules:
  - { conditions: [batch_held], channels: [b, a] }
  - { channels: [a], runbooks: [Wave] }
`)
  assert.ok('settings' in read)
  const { channels, rules } = read.settings
  const held = heldIn('other')
  const named = (of: Parameters<typeof channelsFor>[0]) =>
    channelsFor(of, rules, channels).map(({ name }) => name)
  assert.deepEqual(named(held), ['a', 'b'])
  assert.deepEqual(named({ ...held, kind: 'phase_ended', runbookNames: ['wave'] }), ['a'])
  assert.deepEqual(named({ ...held, kind: 'phase_ended' }), [])
  assert.equal(sendAt(channels[0]!, true, AT), AT)
  assert.equal(sendAt(channels[0]!, false, AT).toISOString(), '2026-11-17T06:00:00.000Z')
  assert.equal(+sendAt(channels[1]!, false, AT), +AT)
})

it('tells of one silent worker however many batches wait', () => {
  const stuck = {
    kind: 'worker_silent',
    because: 'worker w1 was last seen at 2026-11-16T23:00:00.000Z; 3 steps wait for it',
    aboutWorker: 'worker w1 was last seen at 2026-11-16T23:00:00.000Z',
    count: 3,
    isCountExact: true,
    since: AT,
    workerId: 'w1',
    stepId: 1,
    actions: [],
  } as const
  const batches = [1, 2].map((batchId) => ({ batchId, runbookName: 'wave', stuck: [stuck] }))
  const found = stuckNeeds(batches, AT)
  assert.deepEqual(
    found.map(({ key, text }) => [key, text]),
    [
      [
        'worker_silent:w1',
        'Worker w1 was last seen at 2026-11-16T23:00:00.000Z; 6 steps wait for it in 2 batches',
      ],
    ],
  )
})

it('writes times in the zone, makes no links of a reason, and keeps below the limit of Teams', () => {
  const item = itemOf(heldIn('wave'), AT)
  const message = { id: 'm', number: 3, items: [item], left: 0 }
  assert.match(plainText(message, 'Europe/Berlin'), /Since: 00:10 CET\nNext: matoolkit resume/)
  assert.match(JSON.stringify(teamsEnvelope(message, 'UTC')), /\\\\\[here\\\\\]\(https/)
  assert.doesNotMatch(plainText(message, 'UTC'), /Sent again/)
  assert.match(
    plainText({ ...message, mayHaveArrived: true }, 'UTC'),
    /\nMessage 3, id m\. Sent again: an earlier attempt had no answer, so you may have it twice$/,
  )
  const many = { ...message, items: Array(50).fill({ ...item, text: 'ä'.repeat(600) }) }
  const text = JSON.stringify(teamsEnvelope(many, 'UTC'))
  assert.ok(Buffer.byteLength(text) < 28_000)
  assert.match(text, /And \d+ more: matoolkit notification list 3/)
})
