// The screens of batches: the list, one batch with its heat map, and changes of many people that are shown before they happen.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { verifyPack } from '../../../src/api/evidence/verify-pack.ts'
import { tellMisses } from '../../../src/orchestrator/forecast-misses.ts'
import { accessibilityProblems, openPage, type TestPage } from '../../kit/browser.ts'
import { printedRows } from '../../kit/pdf-rows.ts'
import { batchOf, runbook, step } from '../../stories/looking.ts'
import { people } from '../../stories/world.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

const PHASES = {
  'prepare T-5m': [step('create'), step('licence')],
  'cutover T-0': [step('switch')],
}

describe('the screens of batches', () => {
  let dashboard: DashboardUnderTest
  let opened: TestPage
  let page: Page
  before(async () => {
    dashboard = await openDashboard()
    const { world } = dashboard
    world.answer = ({ functionName, parameters }) =>
      functionName === 'licence' && /user[36]@/.test(String(parameters.Upn))
        ? { fail: `no licence for ${parameters.Upn}` }
        : { ok: true }
    await world.publish(runbook('wave', PHASES))
    await world.batch('wave', 12, { startsInMin: 5 })
    await world.settle()
    opened = await openAt('/batches/1')
    page = opened.page
  })
  after(() => dashboard.close())

  /** With a query too. */
  async function openAt(view: string, options: BrowserContextOptions = {}): Promise<TestPage> {
    const fresh = await openPage(dashboard.browser, options)
    await fresh.page.goto(`${dashboard.url}${view}#token=${dashboard.token}`)
    return fresh
  }

  /** The event feed looks by the system's clock. */
  async function passMoments(): Promise<void> {
    for (let second = 0; second < 3; second++) await dashboard.world.pass(1)
  }

  const section = (name: string) => page.getByRole('region', { name, exact: true })
  const lanes = () => section('Phases').getByRole('listitem')
  const figures = async (): Promise<Record<string, string>> => {
    const texts = await section('Members').locator('.figure').allInnerTexts()
    return Object.fromEntries(texts.map((text) => text.split('\n').toReversed()))
  }
  const rows = () => page.getByRole('grid').getByRole('row', { selected: false })

  it('show phases on the time axis, and figures that add up', async () => {
    await lanes().filter({ hasText: 'prepare T-5m' }).getByText('done, some failed').waitFor()
    await lanes().filter({ hasText: 'cutover T-0' }).getByText('next').waitFor()
    assert.equal(await section('Phases').locator('.mark-now').count(), 2)
    const { 'All members': all, ...parts } = await figures()
    const sum = Object.values(parts).reduce((total, count) => total + Number(count), 0)
    assert.deepEqual([`= ${sum}`, parts.Preparing, parts.Failed], [all, '10', '2'])
    await section('Failures').getByText('prepare / licence').waitFor()
    await rows().nth(11).waitFor()
    await assertSound(opened)
  })

  it('follow the batch without a reload', async () => {
    await page.evaluate('window.isSamePage = true')
    await dashboard.world.pass(300)
    await passMoments()
    await lanes().filter({ hasText: 'cutover' }).getByText('done').waitFor()
    await section('Members').getByRole('link', { name: '10 Done' }).waitFor()
    await page.getByRole('gridcell', { name: 'switch succeeded' }).nth(9).waitFor()
    assert.equal(await page.evaluate('window.isSamePage'), true)
  })

  it('open the report, ready to print, under their own policy', async () => {
    const context = page.context()
    const [tab] = await Promise.all([
      context.waitForEvent('page'),
      section('Documents').getByRole('button', { name: 'Open report' }).click(),
    ])
    await tab.getByRole('heading', { name: 'Done (10)' }).waitFor()
    const collapse = "getComputedStyle(document.querySelector('table')).borderCollapse"
    assert.equal(await tab.evaluate(collapse), 'collapse', 'its style is allowed')
    assert.deepEqual(await accessibilityProblems(tab), [])
    await tab.close()
    const saved = page.waitForEvent('download')
    await section('Documents').getByRole('button', { name: 'Download report as CSV' }).click()
    assert.equal((await saved).suggestedFilename(), 'batch-1-report.csv')
    const proof = page.waitForEvent('download')
    await section('Documents').getByRole('button', { name: 'Download evidence pack' }).click()
    const { findings } = await verifyPack(await (await proof).createReadStream(), null)
    assert.deepEqual(findings, [])
  })

  it('open a run sheet that prints on several pages, cuts no row and asks nobody', async () => {
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      section('Documents').getByRole('button', { name: 'Open run sheet' }).click(),
    ])
    await tab.getByRole('heading', { name: 'People (12)' }).waitFor()
    assert.deepEqual(await accessibilityProblems(tab), [])
    const requests: string[] = []
    tab.on('request', (request) => void requests.push(request.url()))
    const more = `const rows = [...document.querySelectorAll('#people ~ table tbody tr')]
      for (const row of rows) row.cells[0].innerHTML += '<br>two<br>three<br>four'
      for (let time = 0; time < 20; time++) for (const row of rows) row.parentElement.append(row.cloneNode(true))`
    await tab.evaluate(more)
    const { pages, rows: printed } = printedRows(await tab.pdf({ format: 'A4', tagged: true }))
    await tab.close()
    assert.ok(pages > 5, `${pages} pages`)
    assert.ok(printed.length > 12 * 20, `${printed.length} rows`)
    assert.deepEqual(
      printed.filter((on) => on.length > 1),
      [],
      'rows on two pages',
    )
    assert.deepEqual(requests, [])
  })

  it('keep a filter in the address, so that a link or a reload shows the same', async () => {
    await page.getByLabel('State').selectOption('failed')
    await page.getByText('2 of 12 match').waitFor()
    await page.reload()
    await page.getByText('2 of 12 match').waitFor()
    // The rows are drawn before their names have come.
    await page.getByRole('rowheader', { name: 'user6@contoso.example' }).waitFor()
    assert.deepEqual(await page.getByRole('grid').getByRole('rowheader').allInnerTexts(), [
      'user3@contoso.example',
      'user6@contoso.example',
    ])
    assert.match(page.url(), /\/batches\/1\?state=failed$/)
  })

  it('open a person from the heat map by the keyboard', async () => {
    const grid = page.getByRole('grid')
    await grid.focus()
    for (const key of ['ArrowDown', 'ArrowRight']) await grid.press(key)
    await page.getByText('prepare / licence: failed').waitFor()
    await grid.press('Space')
    await page.getByText('1 selected.').waitFor()
    await grid.press('Enter')
    await page.waitForURL('**/batches/1/members/6')
    await page.goBack()
    await page.getByText('1 selected.').waitFor()
  })

  it('show what a change would do, and change nothing before it is confirmed', async () => {
    const sent: unknown[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.postDataJSON())
    })
    await section('Failures').getByRole('link', { name: 'Select these people' }).click()
    await page.getByText('All 2 are selected.').waitFor()
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('Applies to 2 people.').waitFor()
    assert.ok(
      await dialog.getByRole('button', { name: 'Retry', exact: true }).isDisabled(),
      'no reason yet',
    )
    await assertSound(opened)
    assert.deepEqual(
      sent.map((body) => (body as { dryRun?: boolean }).dryRun),
      [true],
    )
    assert.equal((await batchOf(dashboard.world, 1)).failed, 2)
    await dialog.getByLabel('Reason').fill('licences bought')
    dashboard.world.answer = () => ({ ok: true })
    await dialog.getByRole('button', { name: 'Retry', exact: true }).click()
    await page.getByText('Retry: done for 2 people.').waitFor()
    const { select, expectedCount, reason } = sent[1] as Record<string, unknown>
    assert.deepEqual(select, {
      pattern: 'no licence for <address> (TestError)',
      failedPhase: 'prepare',
      failedStep: 'licence',
    })
    assert.deepEqual([expectedCount, reason], [2, 'licences bought'])
    await passMoments()
    await section('Members').getByRole('link', { name: '12 Done' }).waitFor()
    assert.equal(sent.length, 2)
    await page.getByRole('link', { name: 'See what became of them' }).click()
    await page.getByText('licences bought').waitFor()
    await page.getByRole('link', { name: 'user6@contoso.example' }).waitFor()
    const became = await section('What became of them').locator('.figure').allInnerTexts()
    assert.deepEqual(
      ['2\ndone', '= 2\nChanged', '0\nof these failed again'].filter(
        (text) => !became.includes(text),
      ),
      [],
    )
    await assertSound(opened)
    await page.goto(`${dashboard.url}/actions?batchId=1`)
    await page.getByRole('link', { name: 'Retry (1)' }).waitFor()
    await assertSound(opened)
  })

  it('hold and resume a batch, each with its preview', async () => {
    await dashboard.world.batch('wave', [{ key: 'zoe@x.example', data: {} }], { startsInMin: 30 })
    await dashboard.world.settle()
    await page.goto(`${dashboard.url}/batches/2`)
    await page.getByRole('button', { name: 'Hold batch' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('queued jobs are withdrawn').waitFor()
    assert.equal((await batchOf(dashboard.world, 2)).held, null)
    await dialog.getByLabel('Reason').fill('change freeze')
    await dialog.getByRole('button', { name: 'Hold batch' }).click()
    await page.getByText('change freeze').first().waitFor()
    await lanes().filter({ hasText: 'cutover' }).getByText('held').waitFor()
    await page.getByRole('button', { name: 'Resume batch' }).click()
    await dialog.getByText('Nothing starts at once').waitFor()
    await dialog.getByLabel('Reason').fill('freeze is over')
    await dialog.getByRole('button', { name: 'Resume batch' }).click()
    await page.getByRole('button', { name: 'Hold batch' }).waitFor()
    assert.equal((await batchOf(dashboard.world, 2)).held, null)
  })

  it('list batches by status, in dark on a phone', async () => {
    const phone = { viewport: { width: 390, height: 800 }, colorScheme: 'dark' } as const
    const small = await openAt('/batches?status=completed', phone)
    await small.page.getByRole('link', { name: 'Batch 1' }).waitFor()
    assert.equal(await small.page.getByRole('link', { name: 'Batch 2' }).count(), 0)
    await assertSound(small)
    await small.page.getByRole('link', { name: 'Batch 1' }).click()
    await small.page.getByRole('button', { name: 'Overview' }).click()
    await small.page.getByRole('cell', { name: '1 passed' }).first().waitFor()
    await small.page.getByRole('button', { name: 'Batch and phases' }).click()
    await small.page.getByRole('group', { name: 'Events' }).waitFor()
    await assertSound(small)
    const width = await small.page.evaluate<number>('document.documentElement.scrollWidth')
    assert.equal(width, 390)
    await small.page.context().close()
  })

  it('say which phase will be late, by how much and why, here and on the wall', async () => {
    const { world } = dashboard
    await world.publish(
      runbook('late', { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }),
    )
    const id = await world.batch('late', people(60).slice(20), { startsInMin: 20 })
    await world.orchestrate()
    await world.clock.advance(600_000)
    await world.work(10)
    await world.orchestrate()
    await tellMisses(world.engine)
    await page.goto(`${dashboard.url}/batches/${id}`)
    const late = /Phase prepare will miss T-0 \(.*\) by 30m: 30 steps left at 1 step a minute/
    const prepare = lanes().filter({ hasText: 'prepare' })
    await prepare.getByText(late).waitFor()
    await prepare.getByText(/Ends about .*, latest /).waitFor()
    assert.equal(
      await lanes()
        .filter({ hasText: 'cutover' })
        .getByText(/will miss/)
        .count(),
      0,
    )
    await assertSound(opened)
    await page.goto(dashboard.url)
    const card = page.getByRole('region', { name: `Batch ${id}, late` })
    await card.getByText(late).waitFor()
    await page
      .getByRole('region', { name: 'Needs a person' })
      .getByText('Late', { exact: true })
      .waitFor()
    await assertSound(opened)
  })

  it('show a Reader everything but actions', async () => {
    // The API refuses a Reader's changes by itself; here the page does not offer them.
    await page.route('**/api/me', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ json: { ...(await answer.json()), roles: ['Reader'] } })
    })
    await page.goto(`${dashboard.url}/batches/2`)
    await page.getByRole('gridcell').first().waitFor()
    assert.deepEqual(await page.getByRole('checkbox').count(), 0)
    const buttons = await page.getByRole('button').allInnerTexts()
    for (const verb of ['Hold batch', 'Reschedule', 'Cancel batch', 'Retry', 'Remove'])
      assert.ok(!buttons.includes(verb), `a Reader sees ${verb}`)
  })
})
