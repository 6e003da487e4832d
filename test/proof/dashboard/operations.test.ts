// The screens for those who run the service: sources with reviews, workers, dead letters, holds, audit.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { endDelivery, leaseDue } from '../../../src/db/orders/notifications.ts'
import { recordWorker } from '../../../src/db/state/workers.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { lookForConditions } from '../../../src/engine/needs/notifications.ts'
import { previewSource } from '../../../src/scheduler/preview.ts'
import { tick } from '../../../src/scheduler/tick.ts'
import {
  at,
  batchesOf,
  issuesOf,
  type Programme,
  range,
  row,
  startProgramme,
  wave,
} from '../../stories/programme.ts'
import { WORKER } from '../../stories/world.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

const WIDE = { viewport: { width: 1280, height: 900 }, colorScheme: 'light' } as const
const PHONE = { width: 390, height: 844 }

const read = readNotificationSettings(`
channels:
  - { name: night, type: teams, url_file: u }
  - { name: leads, type: mail, from: a@x.example, to: [b@x.example], digest: 15m, quiet_hours: { days: [sat], from: "22:00", to: "07:00" } }
rules:
  - { conditions: [everything_held, batch_held], channels: [night, leads] }
urgent: []
`)
assert.ok('settings' in read)
const { settings } = read

/** The phase `prepare` is due half an hour after the start of the story. */
const CUT_OVER_HOUR = 24.5

describe('the screens of operations', () => {
  let dashboard: DashboardUnderTest
  let world: Programme
  before(async () => {
    dashboard = await openDashboard({
      options: {
        notifications: settings,
        preview: (runbook, stopping) =>
          previewSource({
            db: world.db,
            sources: world.options.sources,
            runbook,
            stopping,
            now: world.clock.now(),
          }),
        tickNow: (name, startedBy, stopping) =>
          tick(
            { ...world.options, newToken: randomUUID, startedBy, evenIfNotDue: true },
            name,
            stopping,
          ),
      },
    })
    world = await startProgramme(dashboard.world)
    await world.tick([...wave(CUT_OVER_HOUR, ...range(1, 10)), row(90, 'no time')])
    await world.tick([...wave(CUT_OVER_HOUR, ...range(6, 10)), row(90, 'no time')])
    await world.tick()
    await announce()
  })
  after(() => dashboard.close())

  const announce = async () => {
    const now = world.clock.now()
    const parameters = {
      type: 'object',
      properties: { UserPrincipalName: { type: 'string' } },
      required: ['UserPrincipalName'],
    }
    const quota = { name: 'Microsoft Graph', concurrency: 4, calls: 1, queued: 2, throttled: 3 }
    const closedUntil = new Date(+now + 90_000).toISOString()
    await world.db.transaction((tx) =>
      recordWorker(
        tx,
        {
          workerId: WORKER,
          version: '2.1.0',
          slots: 8,
          functions: [{ name: 'create', parameters }],
          throttles: [{ ...quota, closedUntil, throttledSec: 60 }],
        },
        now,
      ),
    )
  }
  /** With everything that the page sends by POST. */
  const look = async (view: string, options: Parameters<typeof dashboard.open>[1] = WIDE) => {
    const opened = await dashboard.open(view, options)
    const sent: string[] = []
    opened.page.on('request', (request) => {
      if (request.method() !== 'POST') return
      const isDry = (request.postData() ?? '').includes('"dryRun":true')
      sent.push(new URL(request.url()).pathname + (isDry ? ' dry' : ''))
    })
    return { ...opened, sent }
  }
  const audited = (action: string) =>
    world.db.query<{ subject: string; reason: string }>(
      'select subject, reason from audit where action = $1 order by id',
      [action],
    )
  const startOf = async (batchId: number) => {
    const [batch] = await world.db.query<{ at: Date }>(
      'select batch_start_time as at from batches where id = $1',
      [batchId],
    )
    return batch!.at.toISOString()
  }
  const confirm = async (page: Page, verb: string, reason: string) => {
    const dialog = page.getByRole('alertdialog')
    await dialog.getByLabel('Reason').fill(reason)
    await dialog.getByRole('button', { name: verb, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  it('show sources with last and next tick, and tick one after a preview', async () => {
    const { page, sent } = await look('/sources')
    const line = page.getByRole('row', { name: /^wave/ })
    await line.getByText('good').waitFor()
    assert.match(await line.innerText(), /good now\s+6\s+in 5 min\s+1[\s\S]*5/)
    world.rows = [...wave(CUT_OVER_HOUR, ...range(6, 12)), row(90, 'no time')]
    await line.getByRole('button', { name: 'Tick now: wave' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('2 people join a batch').waitFor()
    assert.deepEqual(sent, ['/api/runbooks/wave/query/preview'])
    assert.equal((await batchesOf(world)).join().includes('user11'), false)
    await confirm(page, 'Tick now', 'new starters')
    await line
      .getByText('8 rows', { exact: false })
      .or(line.getByText('2 joined'))
      .first()
      .waitFor()
    assert.equal(sent.length, 2)
    assert.match((await batchesOf(world)).join(), /user11, user12/)
    assert.deepEqual(await audited('source.tick'), [
      { subject: 'runbook wave', reason: 'new starters' },
    ])
    await page.getByRole('link', { name: 'wave', exact: true }).click()
    await page.getByRole('heading', { name: 'Source of wave' }).waitFor()
    const problems = page.getByRole('group', { name: 'Row problems' })
    await problems.getByText('user90@contoso.example').waitFor()
    assert.equal((await issuesOf(world)).length, await problems.locator('tbody tr').count())
    assert.equal(
      await page
        .getByRole('group', { name: /^Ticks/ })
        .locator('tbody tr')
        .count(),
      4,
    )
  })

  it('decide reviews only after the confirmation', async () => {
    const { page, sent } = await look('/sources')
    await page.getByRole('link', { name: 'Review them' }).click()
    const group = page.getByRole('region', { name: 'Removals: wave, batch 1' })
    await group.getByText('5 of 5 selected').waitFor()
    await group.getByLabel('Select user1@contoso.example').uncheck()
    await group.getByRole('button', { name: 'Approve …' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('4 people of batch 1').waitFor()
    const approve = dialog.getByRole('button', { name: 'Approve' })
    assert.equal(await approve.isDisabled(), true, 'without a reason')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.deepEqual(sent, ['/api/reviews dry'])
    assert.equal((await batchesOf(world)).join().includes('removed'), false)
    await group.getByRole('button', { name: 'Approve …' }).click()
    await dialog.getByText('4 people of batch 1').waitFor()
    await confirm(page, 'Approve', 'left the company')
    await group
      .getByText('1 of 1 selected', { exact: false })
      .or(group.getByText('0 of 1 selected'))
      .waitFor()
    assert.match((await batchesOf(world)).join(), /user1, user2 removed, user3 removed/)
    await group.getByLabel('Select user1@contoso.example').check()
    await group.getByRole('button', { name: 'Dismiss …' }).click()
    await dialog.getByText('1 person of batch 1').waitFor()
    await confirm(page, 'Dismiss', 'comes back')
    await page.getByText('Nothing waits for a person').waitFor()
    const reasons = [await audited('review.approve'), await audited('review.dismiss')].flat()
    assert.deepEqual(
      reasons.map(({ reason }) => reason),
      ['left the company', 'comes back'],
    )
    assert.match((await batchesOf(world)).join(), /user1, user2 removed/)
  })

  it('show workers, drain one live, and resume it with a preview', async () => {
    await world.settle()
    const before = world.jobs.length
    world.answer = () => 'silent'
    await world.pass(20 * 60)
    await announce()
    const taken = world.jobs.slice(before)
    assert.equal(taken.length, 8)
    const { page, sent } = await look('/workers')
    const line = page.getByRole('row', { name: /^w1/ })
    await line.getByText('working').waitFor()
    assert.match(
      await line.innerText(),
      /8 jobs in hand, 8 slots[\s\S]*ends in 1 min 30 s[\s\S]*2\.1\.0/,
    )
    await line.getByRole('button', { name: 'Drain w1' }).click()
    await page.getByRole('alertdialog').getByText('gets no new jobs').waitFor()
    assert.deepEqual(sent, [])
    await confirm(page, 'Drain', 'patch day')
    await line.getByText('draining').waitFor()
    assert.match(await line.innerText(), /patch day/)
    for (const { jobId } of taken) await world.result({ jobId }, { ok: true })
    await world.orchestrate()
    await line.getByText('drained').waitFor()
    await line.getByRole('link', { name: 'w1' }).click()
    await page.getByRole('group', { name: 'Functions and their parameters' }).waitFor()
    assert.match(
      await page
        .getByRole('group', { name: /^Functions/ })
        .locator('tbody')
        .innerText(),
      /create\s+UserPrincipalName string, required/,
    )
    await page.getByRole('link', { name: 'Holds' }).click()
    await page.getByRole('button', { name: 'Resume worker w1' }).click()
    await page
      .getByRole('alertdialog')
      .getByText(/patch day/)
      .waitFor()
    await confirm(page, 'Resume', 'patched')
    await page.getByText('Nothing is held').waitFor()
    assert.deepEqual(sent, ['/api/holds', '/api/holds/resume dry', '/api/holds/resume'])
    assert.deepEqual(
      [await audited('hold.set'), await audited('hold.end')].flat().map(({ reason }) => reason),
      ['patch day', 'patched'],
    )
  })

  it('replay one dead letter, and discard the rest', async () => {
    for (const jobId of ['step-901', 'step-902', 'step-903'])
      await world.result({ jobId }, { ok: true })
    await world.bus.deadLetter(
      await world.bus.receive(WORKER_RESULTS, 10),
      'Unreadable',
      'no such step',
    )
    const { page, sent } = await look('/dead-letters')
    const list = page.getByRole('group', { name: 'Dead letters' })
    await list.getByText('no such step').first().waitFor()
    await list.locator('tbody tr').first().getByRole('link').click()
    await page.getByText('"jobId": "step-901"').waitFor()
    await page.getByRole('button', { name: 'Replay …' }).click()
    assert.deepEqual(sent, [])
    await confirm(page, 'Replay', 'fixed')
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor()
    await page.getByLabel('Select all shown').check()
    await page.getByText('2 selected').waitFor()
    await page.getByRole('button', { name: 'Discard …' }).click()
    await confirm(page, 'Discard', 'of another system')
    await page.getByText('No dead letters').waitFor()
    assert.equal((await world.bus.receive(WORKER_RESULTS, 10)).length, 1)
    assert.deepEqual(
      [await audited('dead-letter.replay'), await audited('dead-letter.discard')].flat().length,
      3,
    )
  })

  it('show who hears of what, and send a test after the confirmation', async () => {
    const hold = () =>
      dashboard.call('POST', '/api/holds', { body: { scope: 'system', reason: 'change freeze' } })
    await hold()
    await lookForConditions({ engine: world.engine, settings, newId: randomUUID })
    const { page, sent } = await look('/notifications')
    const conditions = page.getByRole('group', { name: 'Open conditions' }).locator('tbody tr')
    await conditions.getByText('change freeze').waitFor()
    assert.match(await conditions.innerText(), /night: message \d+, waiting\s+leads: message \d+/)
    const messages = page.getByRole('group', { name: 'Messages' }).locator('tbody tr')
    assert.equal(await messages.count(), 2)
    assert.match(
      await messages.first().innerText(),
      /leads[\s\S]*quiet hours or a digest, in 15 min/,
    )
    const channels = page.getByRole('group', { name: 'Channels' })
    const night = channels.getByRole('row', { name: /^night/ })
    assert.match(await night.innerText(), /Teams workflow[\s\S]*not used yet[\s\S]*never/)
    await channels.getByText('22:00 to 07:00 on sat, UTC; collected for 15 min').waitFor()
    const rules = page.getByRole('group', { name: 'Rules' })
    await rules.getByText('batch held').waitFor()
    const test = night.getByRole('button', { name: 'Send a test to night' })
    await test.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('Everyone behind this Teams workflow').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.deepEqual(sent, [])
    await test.click()
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await messages.getByText('Test of channel night').waitFor()
    assert.deepEqual(sent, ['/api/channels/night/test'])
    assert.deepEqual(await audited('channel.test'), [{ subject: 'channel night', reason: null }])
    await refuse('night')
    await night.getByText('failing').waitFor({ timeout: 20_000 })
    assert.match(await night.innerText(), /flow\.example answered 404/)
    await page.goto(`${dashboard.url}/`)
    const needs = page.getByRole('region', { name: 'Needs a person' })
    const need = needs.getByRole('listitem').filter({ hasText: 'Channel night' })
    await need.getByText('does not take messages: flow.example answered 404').waitFor()
    await need.getByRole('link', { name: 'See the channel' }).click()
    await page.getByRole('heading', { name: 'Notifications' }).waitFor()
    await dashboard.call('POST', '/api/holds/resume', { body: { scope: 'system', reason: 'over' } })
  })

  /** The receiver refuses what is due. */
  const refuse = (channel: string) =>
    world.db.transaction(async (tx) => {
      const now = world.clock.now()
      const due = await leaseDue(tx, [channel], 'mine', new Date(+now + 1_000), now, 10)
      const end = { status: 'failed', error: 'flow.example answered 404' } as const
      for (const { id } of due) assert.ok(await endDelivery(tx, id, 'mine', end, now))
    })

  it('show the audit with reasons; its filters survive a reload, its chain is verified', async () => {
    const { page } = await look('/audit')
    const rows = page.getByRole('group', { name: 'Audit entries' }).locator('tbody tr')
    await rows.first().waitFor()
    const text = await page.getByRole('group', { name: 'Audit entries' }).innerText()
    for (const reason of ['new starters', 'left the company', 'patch day', 'fixed'])
      assert.ok(text.includes(reason), reason)
    assert.equal(text.includes('read '), false)
    await page.getByLabel('Action').fill('hold.set')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText(/^2 entries/).waitFor()
    await page.reload()
    await page.getByText(/^2 entries/).waitFor()
    assert.match(page.url(), /\/audit\?action=hold\.set$/)
    assert.equal(await page.getByLabel('Action').inputValue(), 'hold.set')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    assert.equal(download.suggestedFilename(), 'audit.csv')
    await page.getByRole('button', { name: 'Verify chain' }).click()
    await page.getByText('intact').waitFor()
  })

  it('offer a reader no action', async () => {
    const { page } = await dashboard.open('/', WIDE)
    await page.getByRole('navigation').first().waitFor()
    await page.route('**/api/me', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ json: { ...(await answer.json()), roles: ['Reader'] } })
    })
    for (const [view, sign] of [
      ['/sources', 'wave'],
      ['/sources/reviews', 'Nothing waits for a person'],
      ['/workers', '2.1.0'],
      ['/holds', 'Nothing is held'],
      ['/dead-letters', 'No dead letters'],
      ['/notifications', 'failing'],
      ['/audit', 'The audit needs the role Admin'],
    ] as const) {
      await page.goto(`${dashboard.url}${view}`)
      await page.locator('#content').getByText(sign).first().waitFor()
      const names = await page.locator('#content').getByRole('button').allInnerTexts()
      assert.deepEqual(
        names.filter((name) => name !== 'Download CSV'),
        [],
        view,
      )
    }
  })

  it('are sound in both themes, on a screen and on a phone', async () => {
    await world.result({ jobId: 'step-904' }, { ok: true })
    const results = await world.bus.receive(WORKER_RESULTS, 10)
    await world.bus.deadLetter(results, 'Unreadable', 'no such step')
    await world.tick(wave(CUT_OVER_HOUR, 6))
    await world.tick()
    await announce()
    await dashboard.call('POST', '/api/holds', {
      body: { scope: 'worker', target: 'w1', reason: 'patch day' },
    })
    const opened = await look('/', WIDE)
    const { page } = opened
    await page.getByRole('navigation').first().waitFor()
    // Each as a wide light page or as a dark phone: axe takes a second for each look.
    for (const [view, sign, look] of [
      ['/sources', 'wait for a person', 'wide'],
      ['/sources/wave', 'Every row could be used', 'phone'],
      ['/sources/reviews', 'user7@contoso.example', 'phone'],
      ['/workers', 'patch day', 'wide'],
      ['/workers/w1', 'Microsoft Graph', 'phone'],
      ['/holds', 'patch day', 'wide'],
      ['/dead-letters', 'no such step', 'phone'],
      ['/notifications', 'failing', 'phone'],
      ['/audit', 'patch day', 'wide'],
    ] as const) {
      await page.emulateMedia({ colorScheme: look === 'wide' ? 'light' : 'dark' })
      await page.setViewportSize(look === 'wide' ? WIDE.viewport : PHONE)
      await page.goto(`${dashboard.url}${view}`)
      await page.locator('#content').getByText(sign).first().waitFor()
      await page.waitForFunction('!document.querySelector(".loading")')
      await assertSound(opened)
      await page.setViewportSize(PHONE)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(width <= PHONE.width, `${view} is ${width} wide on a phone`)
    }
  })

  it('ask how a wave with a new date moves before they show what follows', async () => {
    await dashboard.call('POST', '/api/holds/resume', {
      body: { scope: 'worker', target: 'w1', reason: 'patched' },
    })
    await world.tick(wave(64, ...range(6, 12)))
    const { page, sent } = await look('/sources/reviews?kind=move')
    const group = page.getByRole('region', { name: 'Moves: wave, batch 1' })
    await group.getByRole('button', { name: 'Approve …' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByLabel('Reason').fill('the site closes later')
    assert.equal(await dialog.getByRole('button', { name: 'Approve' }).isDisabled(), true)
    assert.deepEqual(sent, [])
    await dialog.getByLabel('Reschedule the whole batch').check()
    await dialog.getByText('7 people of batch 1').waitFor()
    assert.equal(await startOf(1), at(CUT_OVER_HOUR))
    await confirm(page, 'Approve', 'the site closes later')
    await page.getByText('Nothing waits for a person').waitFor()
    assert.equal(await startOf(1), at(64))
    assert.deepEqual(sent, ['/api/reviews dry', '/api/reviews'])
  })
})
