// The wall and the wallboard: what runs, what needs a person, what comes next, on the server's clock; and the stop of everything.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import type { TestPage } from '../../kit/browser.ts'
import { runbook } from '../../stories/looking.ts'
import { WORKER } from '../../stories/world.ts'
import { type DashboardWithRoles, openDashboardWithRoles } from './roles.ts'
import { assertSound } from './under-test.ts'

const step = (name: string) =>
  `{ name: ${name}, worker_id: ${WORKER}, function: New-EntraUser, params: { UserPrincipalName: "{{UserPrincipalName}}" } }`
const WAVE = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0': [step('switch')],
  'aftercare T+1d': [step('tidy')],
})
const WIDE = { viewport: { width: 1280, height: 900 }, timezoneId: 'UTC', locale: 'en-GB' }
const PHONE = { ...WIDE, viewport: { width: 390, height: 844 } }

describe('the wall', () => {
  let dashboard: DashboardWithRoles
  let admin: TestPage
  let page: Page
  before(async () => {
    dashboard = await openDashboardWithRoles()
    admin = await dashboard.openAs('Admin', '/', WIDE)
    page = admin.page
  })
  after(() => dashboard.close())

  const rail = (batch: string, phase: RegExp) =>
    page.getByRole('region', { name: batch }).getByRole('listitem').filter({ hasText: phase })
  const systemHolds = async () =>
    (await dashboard.call<{ total: number }>('GET', '/api/holds?scope=system')).body.total

  it('says what to do when nothing is there yet', async () => {
    await page.getByText('No batch is under way').waitFor()
    await page.getByRole('link', { name: 'Publish a runbook' }).waitFor()
    await page.getByText('No action needed').waitFor()
    assert.equal(await page.getByRole('region', { name: 'Needs a person' }).count(), 0)
    await assertSound(admin)
  })

  it('shows a batch that begins, without a reload, with counts that add up', async () => {
    const { world } = dashboard
    world.answer = ({ parameters }) =>
      String(parameters.UserPrincipalName).startsWith('user5@')
        ? { fail: 'no licence is left' }
        : { ok: true }
    await world.publish(WAVE)
    await world.batch('wave', 5, { startsInMin: 60 })
    await world.settle()
    await world.pass(2)
    const prepare = rail('Batch 1, wave', /^prepare/)
    await prepare.getByText('4 of 5 passed, 1 failed').waitFor()
    await prepare.getByText('done').waitFor()
    await rail('Batch 1, wave', /^cutover/)
      .getByText('next')
      .waitFor()
    await rail('Batch 1, wave', /^aftercare/)
      .getByText('to come')
      .waitFor()
    const card = page.getByRole('region', { name: 'Batch 1, wave' })
    const counts = await card.locator('.member-counts').innerText()
    assert.match(counts.replaceAll(/\s+/g, ' '), /^4 preparing, 1 failed$/)
  })

  it("counts down by the server's clock, whatever the viewer's says", async () => {
    const face = page.locator('.clock-face')
    await face.getByText(/2 March 2026|March 2, 2026/).waitFor()
    await rail('Batch 1, wave', /^cutover/)
      .getByText('in 59 min 58 s')
      .waitFor()
    await dashboard.world.pass(1_800)
    await dashboard.world.pass(1)
    const next = page.getByRole('list', { name: 'Next phases' }).getByRole('listitem')
    await next.first().getByText('in 29 min 57 s').waitFor()
    assert.match(await next.first().innerText(), /cutover batch 1/)
    assert.match(await face.innerText(), /0?8:30:03/)
  })

  it('lists what needs a person, with the place and the command that handle it', async () => {
    const needs = page.getByRole('region', { name: 'Needs a person' })
    await needs.getByText('1 person of batch 1 failed.').waitFor()
    await needs.getByText('matoolkit failures 1').waitFor()
    const link = needs.getByRole('link', { name: 'See the failures' })
    assert.equal(await link.getAttribute('href'), '/failures?batchId=1')
    assert.doesNotMatch(await page.locator('main').innerText(), /user\d@/, 'the wall names nobody')
    await assertSound(admin)
  })

  it('holds everything after the confirmation, and nothing before', async () => {
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
    })
    await page.getByRole('button', { name: 'Hold everything' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('No new job starts in any batch').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    assert.deepEqual([sent, await systemHolds()], [[], 0])
    await page.getByRole('button', { name: 'Hold everything' }).click()
    await dialog.getByLabel('Reason').fill('mail flow is down')
    await assertSound(admin)
    await dialog.getByRole('button', { name: 'Hold everything' }).click()
    await page
      .getByRole('region', { name: 'Who is needed' })
      .getByText(/The whole system is held .*mail flow is down/)
      .waitFor()
    assert.deepEqual([sent, await systemHolds()], [['/api/holds'], 1])
  })

  it('resumes everything after a preview and with a reason', async () => {
    await page.getByRole('button', { name: 'Resume everything' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText(/0 phases and 0 steps start at once/).waitFor()
    const confirm = dialog.getByRole('button', { name: 'Resume everything' })
    assert.equal(await confirm.isDisabled(), true)
    await dialog.getByLabel('Reason').fill('mail flows again')
    assert.equal(await systemHolds(), 1)
    await confirm.click()
    await page.getByRole('button', { name: 'Hold everything' }).waitFor()
    await page
      .getByText(/The whole system is held/)
      .first()
      .waitFor({ state: 'hidden' })
    assert.equal(await systemHolds(), 0)
  })

  it('keeps the theme that one chose, and finds people', async () => {
    await page.getByLabel('Theme').selectOption('dark')
    await page.reload()
    await page.getByRole('region', { name: 'Batch 1, wave' }).waitFor()
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
    await assertSound(admin)
    await page.getByLabel('Theme').selectOption('system')
    assert.equal(await page.locator('html').getAttribute('data-theme'), null)
    await page.getByRole('searchbox', { name: 'Find a person' }).fill('ada+1@contoso')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${dashboard.url}/people?find=ada%2B1%40contoso`)
  })

  it('shows a Reader everything and no button, on a phone too', async () => {
    const reader = await dashboard.openAs('Reader', '/', PHONE)
    await reader.page.getByRole('region', { name: 'Batch 1, wave' }).waitFor()
    assert.equal(await reader.page.getByRole('button', { name: /everything/ }).count(), 0)
    const width = await reader.page.evaluate('document.documentElement.scrollWidth')
    assert.equal(width, PHONE.viewport.width, 'nothing is wider than the phone')
    await assertSound(reader)
    await reader.page.getByRole('button', { name: 'Sign out' }).click()
    await reader.page.getByRole('button', { name: /Sign in/ }).waitFor()
    await reader.page.context().close()
  })

  it('fills a screen on the wall, without navigation and without actions', async () => {
    const board = await dashboard.openAs('Admin', '/wallboard', { ...WIDE, colorScheme: 'dark' })
    await board.page.getByRole('heading', { name: /Action needed/ }).waitFor()
    await board.page.getByRole('region', { name: 'Batch 1, wave' }).waitFor()
    assert.equal(await board.page.getByRole('navigation').count(), 0)
    assert.equal(await board.page.getByRole('button', { name: /Hold/ }).count(), 0)
    await assertSound(board)
  })
})
