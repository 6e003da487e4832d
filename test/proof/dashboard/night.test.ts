// What every page of the dashboard says during a night: the same verdict, a hold with the way to end it, and the same styles whatever
// page came before.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import type { TestPage } from '../../kit/browser.ts'
import { memberId, runbook } from '../../stories/looking.ts'
import { WORKER } from '../../stories/world.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

const step = (name: string) =>
  `{ name: ${name}, worker_id: ${WORKER}, function: New-EntraUser, params: { UserPrincipalName: "{{UserPrincipalName}}" } }`
const WAVE = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0 gate: { approvals: 1 }': [step('switch')],
})
const WIDE = { viewport: { width: 1280, height: 900 }, timezoneId: 'UTC', locale: 'en-GB' }

/** By a link inside the page: nothing is loaded again. */
const goTo = (page: Page, path: string) => page.evaluate(`history.pushState({}, '', '${path}')`)

/** Has read what it shows. */
async function shown(page: Page): Promise<void> {
  await page.locator('#content h1').first().waitFor()
  await page.locator('#content .loading').first().waitFor({ state: 'detached' })
}

/** What each element of the page looks like, by its tag and classes. Sizes and places depend on texts, and are left out. */
const looks = (page: Page) =>
  page.evaluate(`(() => {
    const PROPERTIES = ['color', 'backgroundColor', 'borderTopWidth', 'borderTopStyle', 'borderTopColor', 'borderLeftWidth',
      'borderLeftStyle', 'borderLeftColor', 'borderRadius', 'fontSize', 'fontWeight', 'fontFamily', 'display', 'flexWrap', 'writingMode', 'rotate',
      'textAlign', 'textDecorationLine', 'textTransform', 'whiteSpace', 'overflowWrap', 'overflowY', 'paddingTop', 'paddingLeft', 'rowGap', 'columnGap', 'maxHeight', 'listStyleType', 'opacity']
    document.activeElement.blur()
    const found = {}
    for (const element of document.querySelectorAll('#content *')) {
      const classes = [...element.classList].sort().join('.')
      const key = [element.tagName, classes, element.dataset.look ?? '', element.parentElement.className].join(' ')
      const style = getComputedStyle(element)
      const look = PROPERTIES.map((name) => name + ' ' + style[name]).join('; ')
      found[key] = [...new Set([...(found[key] ?? []), look])].sort()
    }
    return found
  })()`) as Promise<Record<string, string[]>>

describe('every page of the dashboard, in the night', () => {
  let dashboard: DashboardUnderTest
  let opened: TestPage
  let page: Page
  let paths: string[]
  before(async () => {
    dashboard = await openDashboard()
    const { world } = dashboard
    world.answer = ({ parameters }) =>
      String(parameters.UserPrincipalName).startsWith('user3@')
        ? { fail: 'no licence' }
        : { ok: {} }
    await world.publish(WAVE)
    await world.batch('wave', 5, { startsInMin: 90 })
    await world.pass(31 * 60)
    const person = `/batches/1/members/${await memberId(world, 1, 3)}`
    paths = [
      '/',
      '/handover',
      '/batches',
      '/batches/1',
      person,
      '/workers',
      `/workers/${WORKER}`,
      '/runbooks',
      '/runbooks/wave',
      '/failures',
      '/people',
      '/sources',
      '/holds',
      '/notifications',
      '/dead-letters',
      '/audit',
      '/actions',
      '/rehearse',
    ]
    opened = await dashboard.open('/', WIDE)
    page = opened.page
    await shown(page)
  })
  after(() => dashboard.close())

  it('says who is needed, on the page and in the title of the tab, and leads there', async () => {
    for (const path of paths) {
      await goTo(page, path)
      const verdict = page.getByRole('region', { name: 'Who is needed' })
      await verdict
        .getByText(/Action needed: Phase cutover of batch 1 has 0 of 1 approvals/)
        .waitFor()
      assert.equal(
        await verdict.getByRole('link', { name: 'See the gate' }).getAttribute('href'),
        '/batches/1',
      )
      await shown(page)
      assert.match(await page.title(), /^\(2!\) .* – matoolkit$/, path)
    }
  })

  it('looks the same after any other page as when it is opened alone', async () => {
    const walked = new Map<string, Record<string, string[]>>()
    for (const path of [...paths, ...paths]) {
      await goTo(page, path)
      await shown(page)
      walked.set(path, await looks(page))
    }
    for (const path of paths) {
      const alone = await dashboard.open(path, WIDE)
      await shown(alone.page)
      const fresh = await looks(alone.page)
      const after = walked.get(path)!
      const common = Object.keys(fresh).filter((key) => key in after)
      assert.ok(common.length > 3, path)
      for (const key of common) assert.deepEqual(after[key], fresh[key], `${path}: ${key}`)
      await alone.page.context().close()
    }
  })

  it('shows a hold of everything, and ends it from any page', async () => {
    await goTo(page, '/audit')
    await page.getByRole('button', { name: 'Hold everything' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByLabel('Reason').fill('mail bounces')
    await dialog.getByRole('button', { name: 'Hold everything' }).click()
    await dialog.waitFor({ state: 'hidden' })
    for (const path of paths) {
      await goTo(page, path)
      const verdict = page.getByRole('region', { name: 'Who is needed' })
      await verdict.getByText(/The whole system is held by .*: mail bounces/).waitFor()
      await verdict.getByRole('button', { name: 'Resume everything' }).waitFor()
      await shown(page)
      assert.match(await page.title(), /^Held: /, path)
    }
    await goTo(page, '/batches/1')
    await page
      .locator('.lead')
      .getByText(/The whole system is held .*: mail bounces/)
      .waitFor()
    await page.locator('.lead').getByText('on hold').waitFor()
    assert.equal(await page.getByText(/runs: \d+ of/).count(), 0, 'nothing runs')
    await assertSound(opened)
    await page.getByRole('button', { name: 'Resume everything' }).click()
    await dialog.getByLabel('Reason').fill('mail flows')
    await dialog.getByRole('button', { name: 'Resume everything' }).click()
    await page.getByRole('button', { name: 'Hold everything' }).waitFor()
    assert.match(await page.title(), /^\(2!\) /)
  })

  it('hands over on one page, where a need gets its owner', async () => {
    await goTo(page, '/handover')
    await shown(page)
    const needs = page.getByRole('region', { name: 'Needs a person' })
    const failed = needs.getByRole('listitem').filter({ hasText: '1 person of batch 1 failed' })
    await failed.getByText('No one has it yet').waitFor()
    await failed.getByRole('button', { name: 'Take or assign…' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByLabel('Owner').fill('ben')
    await dialog.getByLabel('Reason').fill('asks the vendor')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await failed.getByText('ben takes care of it').waitFor()
    await page.getByRole('region', { name: 'Waves' }).getByText('4 preparing, 1 failed').waitFor()
    await page
      .getByRole('region', { name: 'What comes next' })
      .getByText(/cutover of/)
      .waitFor()
    const decided = page.getByRole('region', { name: 'What people decided' })
    await decided.getByText('asks the vendor').waitFor()
    await decided.getByText('mail bounces').first().waitFor()
    await assertSound(opened)
  })

  it('moves the focus with the page', async () => {
    await page.getByRole('link', { name: 'Runbooks' }).click()
    await page.getByRole('heading', { name: 'Runbooks', level: 1 }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.id'), 'content')
  })

  it('shows a phase that has not begun at its time as late, on the clock, the card and the lane', async () => {
    // No orchestrator runs.
    await dashboard.world.clock.advance(62 * 60_000)
    await goTo(page, '/')
    const late = page.getByRole('list', { name: 'Late phases' })
    await late.getByText('cutover').waitFor()
    assert.equal(await late.locator('.status').getAttribute('data-look'), 'bad')
    const next = page.getByRole('list', { name: 'Next phases' })
    assert.equal(await next.getByText('cutover').count(), 0)
    const onCard = page.locator('.rail-phase[data-state="late"]')
    assert.equal(await onCard.getAttribute('data-look'), 'bad')
    await goTo(page, '/batches/1')
    await page.locator('.lane[data-state="late"][data-look="bad"]').getByText('cutover').waitFor()
  })
})
