// Runbooks in the dashboard: writing with findings in place, publishing with its impact, differences, automation, member files.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { plain } from '../../api/contract/fixtures.ts'
import { accessibilityProblems } from '../../kit/browser.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

const PHONE = { viewport: { width: 390, height: 844 } }
const DARK = { colorScheme: 'dark' } as const

const none = { total: 0, first: [] }
/** What the scheduler finds in the source. */
const FOUND = {
  rowCount: 2,
  columns: [{ name: 'UserPrincipalName', type: 'text' as const }],
  sample: [
    { UserPrincipalName: 'ada@contoso.example' },
    { UserPrincipalName: 'eve@contoso.example' },
  ],
  warnings: [],
  batchGroups: [{ batchTime: new Date('2026-04-01T20:00:00Z'), memberCount: 2 }],
  groupCount: 1,
  problems: [
    { kind: 'unusable' as const, key: 'eve', column: 'When', batchId: null, reason: 'is no time' },
  ],
  problemCount: 1,
  durationMs: 12,
  nextTick: {
    newBatches: { total: 1, first: [{ time: '2026-04-01T20:00:00Z', members: 2, held: null }] },
    joiners: none,
    rejoiners: none,
    moves: none,
    leavers: none,
    reviews: none,
    missing: 0,
    refreshed: 0,
    holds: [],
  },
}

describe('runbooks in the dashboard', () => {
  let dashboard: DashboardUnderTest
  before(async () => {
    dashboard = await openDashboard({ options: { preview: async () => FOUND } })
    await dashboard.world.publish(plain('wave'))
    await dashboard.world.batch('wave', 3, { startsInMin: 3 * 24 * 60 })
  })
  after(() => dashboard.close())

  const versions = async () =>
    (await dashboard.call<{ total: number }>('GET', '/api/runbooks/wave/versions')).body.total

  it('lists runbooks with their health and leads to each', async () => {
    const opened = await dashboard.open('/runbooks', { viewport: { width: 1280, height: 800 } })
    const { page } = opened
    const row = page.getByRole('row').filter({ hasText: 'wave' })
    await row.getByText('off').waitFor()
    assert.match(await row.innerText(), /wave\s+1\s+off\s+1\s+0\s+none yet/)
    await assertSound(opened)
    await row.getByRole('link').click()
    await page.getByRole('heading', { name: 'Health' }).waitFor()
    assert.equal(page.url(), `${dashboard.url}/runbooks/wave`)
    await assertSound(opened)
  })

  it('shows what the validator finds while one types, and asks the API for nothing', async () => {
    const opened = await dashboard.open('/runbooks/wave/edit', DARK)
    const { page } = opened
    await page.getByText('No problems.').or(page.getByText('warning')).first().waitFor()
    const asked = requestsOf(page)
    await write(page, plain('wave').replace('offset: T-1d', 'offset: T-1x'))
    const problem = page.getByRole('region', { name: 'Problems' }).getByRole('button').first()
    await page.getByText(/^1 error/).waitFor()
    assert.match(await problem.innerText(), /error[\s\S]*6:13[\s\S]*T-1x/)
    assert.equal(await page.locator('.cm-lintRange-error').innerText(), 'T-1x')
    assert.ok(await page.getByRole('button', { name: 'Publish …' }).isDisabled())
    await problem.click()
    assert.equal(
      await page.evaluate(
        "document.activeElement.shadowRoot.activeElement.getAttribute('aria-label')",
      ),
      'Runbook text',
      'the click leads into the text',
    )
    await assertSound(opened)
    await write(page, plain('wave', 'make'))
    await page.getByText(/^1 error/).waitFor({ state: 'detached' })
    assert.equal(await page.locator('.cm-lintRange-error').count(), 0)
    assert.ok(await page.getByRole('button', { name: 'Publish …' }).isEnabled())
    assert.deepEqual(asked, [])
    await page.reload()
    await page.getByText('name: make').waitFor()
  })

  it('publishes after the impact was shown and confirmed', async () => {
    const opened = await dashboard.open('/runbooks/wave/edit')
    const { page } = opened
    await page.getByText('warning').first().waitFor()
    await write(page, plain('wave', 'make'))
    await page.getByRole('button', { name: 'Publish …' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('1 unfinished batch takes version 2').waitFor()
    assert.equal(await versions(), 1, 'a preview publishes nothing')
    assert.ok(await dialog.getByRole('button', { name: 'Publish' }).isDisabled(), 'lacks a reason')
    await dialog.getByLabel('Reason').fill('the step got a better name')
    await assertSound(opened)
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await page.getByRole('cell', { name: 'the step got a better name' }).waitFor()
    assert.equal(await versions(), 2)
    assert.match(page.url(), /\/runbooks\/wave\?tab=versions$/)
  })

  it('shows the differences of two versions, from the address', async () => {
    const opened = await dashboard.open('/runbooks/wave?tab=versions&from=1&to=2', PHONE)
    const { page } = opened
    await page.locator('.cm-deletedChunk').waitFor()
    assert.match(await page.locator('.cm-deletedChunk').innerText(), /name: create/)
    assert.match(await page.locator('.cm-changedLine').innerText(), /name: make/)
    await assertSound(opened)
    assert.match(page.url(), /from=1&to=2$/)
    await page.getByLabel('Compare from version 2').check()
    await page.locator('.cm-deletedChunk').waitFor({ state: 'detached' })
    assert.match(page.url(), /from=2&to=2/)
  })

  it('turns automation on after the first tick was shown and confirmed', async () => {
    const opened = await dashboard.open('/runbooks/wave')
    const { page } = opened
    const isOn = async () =>
      (await dashboard.call('GET', '/api/runbooks/wave/automation')).body.automationEnabled
    await page.getByRole('button', { name: 'Turn automation on' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('1 new batches').waitFor()
    assert.equal(await isOn(), false)
    await assertSound(opened)
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await page.getByRole('button', { name: 'Turn automation off' }).waitFor()
    assert.equal(await isOn(), true)
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Hold', exact: true }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    const { body } = await dashboard.call<{ total: number }>('GET', '/api/holds?scope=runbook')
    assert.equal(body.total, 1)
  })

  it('shows every fault of a member file with row and column, and creates nothing', async () => {
    const { page } = await dashboard.open('/runbooks/wave?tab=members', { ...PHONE, ...DARK })
    const batches = async () =>
      (await dashboard.call<{ total: number }>('GET', '/api/batches')).body.total
    const before = await batches()
    const give = (text: string) =>
      page.getByLabel('File', { exact: true }).setInputFiles({
        name: 'people.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(text),
      })
    await give('UserPrincipalName\r\nada@contoso.example\r\nada@contoso.example\r\nx,y\r\n')
    await page.getByText('The file has 2 faults. Nothing was changed.').waitFor()
    const rows = await page.getByRole('row').allInnerTexts()
    assert.match(rows[1]!, /^3\s+UserPrincipalName\s+"ada@contoso.example" is already in row 2$/)
    assert.match(rows[2]!, /^4\s+/)
    assert.equal(await page.getByRole('button', { name: 'Create batch …' }).count(), 0)
    assert.equal(await batches(), before)
    assert.deepEqual(await accessibilityProblems(page), [])
    await give('UserPrincipalName\r\nada@contoso.example\r\n')
    await page.getByRole('button', { name: 'Create batch …' }).click()
    assert.equal(await batches(), before, 'a check creates nothing')
    await page.getByRole('button', { name: 'Create batch', exact: true }).click()
    await page.getByRole('link', { name: /^batch \d+$/ }).waitFor()
    assert.equal(await batches(), before + 1)
  })

  it('plans a run and previews the query', async () => {
    const opened = await dashboard.open('/runbooks/wave?tab=plan')
    const { page } = opened
    await page.getByLabel('For').selectOption({ label: 'batch 1 (3 members)' })
    await page.getByRole('button', { name: 'Show plan' }).click()
    await page.getByRole('heading', { name: 'prepare' }).waitFor()
    await page.getByRole('region', { name: 'Plan' }).getByText('Mar 4, 2026').waitFor()
    await assertSound(opened)
    await page.getByRole('link', { name: 'Query preview' }).click()
    await page.getByRole('button', { name: 'Query now' }).click()
    await page.getByRole('cell', { name: 'is no time' }).waitFor()
    await assertSound(opened)
  })

  it('offers a Reader no change', async () => {
    const opened = await dashboard.open('/runbooks', {})
    const { page } = opened
    await page.getByRole('link', { name: 'New runbook' }).waitFor()
    await page.route('**/api/me', (route) =>
      route.fulfill({ json: { id: 'r', name: 'Rea', roles: ['Reader'] } }),
    )
    await page.goto(`${dashboard.url}/runbooks/wave/edit`)
    await page.getByRole('region', { name: 'Problems' }).waitFor()
    assert.equal(await page.getByRole('button', { name: /Publish/ }).count(), 0)
    await page.goto(`${dashboard.url}/runbooks/wave`)
    await page.getByRole('link', { name: 'Versions' }).waitFor()
    assert.equal(await page.getByRole('button').count(), 0)
    assert.equal(await page.getByRole('link', { name: /Edit|Member file/ }).count(), 0)
    assert.deepEqual(opened.faults, [])
  })
})

/** Requests to the API from now on. */
function requestsOf(page: Page): string[] {
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/api/') && pathname !== '/api/events') asked.push(pathname)
  })
  return asked
}

/** Replaces the text of the editor, as a person who pastes. */
async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Runbook text' }).fill(text)
}
