// `node scripts/run.mjs scripts/dashboard-pictures.ts [folder]`: a picture of every screen of the dashboard in both themes, taken in a real
// Chromium from a migration in the middle of its cut-over. They are the pictures in docs/images.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { endDelivery, leaseDue } from '../src/db/orders/notifications.ts'
import { recordWorker } from '../src/db/state/workers.ts'
import { readNotificationSettings } from '../src/domain/notifications/read-settings.ts'
import { LOOK_INTERVAL_MS, lookForConditions } from '../src/engine/needs/notifications.ts'
import { holdBatch } from '../src/engine/orders/batch-actions.ts'
import type { GivenMember } from '../src/engine/orders/create.ts'
import { openDashboard } from '../test/proof/dashboard/under-test.ts'
import type { Worker } from '../test/stories/world.ts'

const DAY_SEC = 86_400
const MINUTE_SEC = 60
const SIZE = { width: 1280, height: 800 }
const THEMES = ['light', 'dark'] as const
const FIRST_NAMES = ['Ada', 'Bruno', 'Chiara', 'Dmitri', 'Elif', 'Farah', 'Goran', 'Hanna']
const LAST_NAMES = ['Albers', 'Bauer', 'Conti', 'Demir', 'Endo', 'Fischer', 'Garcia', 'Haas']

const runbook = (name: string) => `
name: ${name}
description: Mailboxes from Contoso to Fabrikam
data_source: { type: csv, path: people.csv, primary_key: Upn, batch_time_column: When, time_zone: Europe/Berlin }
phases:
  - name: prepare
    offset: T-1d
    steps:
      - { name: create-user, worker_id: w1, function: New-Target-User, params: { Upn: "{{Upn}}" } }
      - { name: assign-licence, worker_id: w1, function: Add-Licence, params: { Upn: "{{Upn}}" } }
  - name: cut-over
    offset: T-0
    steps:
      - { name: complete-move, worker_id: w1, function: Complete-Move, params: { Upn: "{{Upn}}" } }
      - { name: forward-mail, worker_id: w1, function: Set-Forwarding, params: { Upn: "{{Upn}}" } }
      - { name: tell-person, worker_id: w1, function: Send-Notice, params: { Upn: "{{Upn}}" } }
  - name: clean-up
    offset: T+7d
    steps: [{ name: remove-source, worker_id: w1, function: Remove-Source, params: { Upn: "{{Upn}}" } }]
`

const people = (wave: number, count: number): GivenMember[] =>
  Array.from({ length: count }, (_, n) => {
    const first = FIRST_NAMES[n % FIRST_NAMES.length]!
    const last = LAST_NAMES[(n * 3 + wave) % LAST_NAMES.length]!
    const name = `${first}.${last}${wave}${n}`.toLowerCase()
    const key = `${name}@contoso.example`
    return { key, data: { Upn: key, NewUpn: `${name}@fabrikam.example`, Name: `${first} ${last}` } }
  })

/** Some licences are missing, some moves fail. */
const answer: Worker = ({ functionName, parameters }) => {
  const who = String((parameters as { Upn?: string }).Upn)
  if (functionName === 'Add-Licence' && /2[15]@/.test(who))
    return { fail: 'No licence of the kind SPE_E3 is left.' }
  if (functionName === 'Complete-Move' && /27@/.test(who))
    return { fail: `Mailbox ${who} is over its quota.` }
  return { ok: { state: 'done' } }
}

const SCREENS: readonly [name: string, view: string][] = [
  ['wall', '/'],
  ['batches', '/batches'],
  ['batch', '/batches/2'],
  ['person', '/batches/2/members/26'],
  ['people', '/people?find=chiara'],
  ['failures', '/failures'],
  ['runbooks', '/runbooks'],
  ['runbook', '/runbooks/contoso-mailboxes'],
  ['editor', '/runbooks/contoso-mailboxes/edit'],
  ['actions', '/actions'],
  ['rehearse', '/rehearse'],
  ['holds', '/holds'],
  ['wallboard', '/wallboard'],
  ['sources', '/sources'],
  ['workers', '/workers'],
  ['dead-letters', '/dead-letters'],
  ['notifications', '/notifications'],
  ['audit', '/audit'],
]

/** Only these, while one is worked at. */
const wanted = process.argv.slice(3)
const folder = resolve(process.argv[2] ?? join(import.meta.dirname, '../docs/images'))
mkdirSync(folder, { recursive: true })
const read = readNotificationSettings(`
channels:
  - { name: night-shift, type: teams, url_file: url, time_zone: Europe/Berlin }
  - { name: leads, type: mail, from: ops@contoso.example, to: [lead@contoso.example], digest: 15m, quiet_hours: { from: "22:00", to: "07:00" } }
rules:
  - { conditions: [failure_limit, batch_held, stuck, worker_silent], channels: [night-shift] }
  - { channels: [leads] }
`)
const settings = 'settings' in read ? read.settings : null
const dashboard = await openDashboard({ options: { notifications: settings } })

/** The third wave is held. Everybody is told, and the urgent message has left. */
async function tell({ engine, db, clock }: typeof dashboard.world): Promise<void> {
  const look = () => lookForConditions({ engine, settings: settings!, newId: randomUUID })
  await look()
  await holdBatch(engine, { batchId: 3, actor: 'ada', reason: 'the network team is not ready' })
  await clock.advance(LOOK_INTERVAL_MS)
  await look()
  const now = clock.now()
  for (const { id } of await leaseDue(db, ['night-shift'], 'picture', new Date(+now + 1), now, 50))
    await db.transaction((tx) => endDelivery(tx, id, 'picture', { status: 'sent' }, now))
}

try {
  const { world } = dashboard
  world.answer = answer
  await world.publish(runbook('contoso-mailboxes'))
  await world.batch('contoso-mailboxes', people(1, 24), { startsInMin: 24 * 60 })
  await world.pass(MINUTE_SEC)
  await world.pass(DAY_SEC)
  await world.batch('contoso-mailboxes', people(2, 40), { startsInMin: 24 * 60 })
  await world.batch('contoso-mailboxes', people(3, 30), { startsInMin: 3 * 24 * 60 })
  await world.pass(MINUTE_SEC)
  await world.pass(DAY_SEC - 2 * MINUTE_SEC)
  // The cut-over of the second wave has just begun: some of its jobs are answered.
  await world.clock.advance(3 * MINUTE_SEC * 1_000)
  const hello = { workerId: 'w1', version: '1', slots: 50, functions: [] }
  await world.db.transaction((tx) => recordWorker(tx, hello, world.clock.now()))
  await world.orchestrate()
  await world.work(15)
  await world.orchestrate()
  await tell(world)
  for (const theme of THEMES) {
    for (const [name, view] of SCREENS) {
      if (wanted.length > 0 && !wanted.includes(name)) continue
      const { page } = await dashboard.open(view, { viewport: SIZE, colorScheme: theme })
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await page.locator('.loading').first().waitFor({ state: 'detached' })
      await page.screenshot({ path: join(folder, `dashboard-${name}-${theme}.png`) })
      await page.context().close()
      console.log(`dashboard-${name}-${theme}.png`)
    }
  }
} finally {
  await dashboard.close()
}
