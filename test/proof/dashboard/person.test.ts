// One person in the dashboard: found by old and new address, told in plain words, repaired after a question; and what each role sees.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { type ApiUnderTest, openApiUnderTest } from '../../api/under-test.ts'
import { openPage, type TestPage } from '../../kit/browser.ts'
import {
  AUDIENCE,
  claimsOf,
  newKey,
  type SigningKey,
  signed,
  TestIssuer,
} from '../../kit/issuer.ts'
import { memberId, runbook, step } from '../../stories/looking.ts'
import type { World } from '../../stories/world.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

const DENIED =
  'Microsoft Graph returned 403 Authorization_RequestDenied: Insufficient privileges to complete the operation.'
const YAML = runbook('wave', {
  'prepare T-2h': [step('create', 'output_params: { NewAddress: mail }'), step('license')],
  'cutover T-0': [step('switch').replace(/function: \S+\b/, 'function: Complete-MigrationUser')],
})

/** Requests that change something. */
function changesOn(page: Page): string[] {
  const found: string[] = []
  page.on('request', (request) => {
    if (request.method() !== 'GET')
      found.push(`${new URL(request.url()).pathname} ${request.postData()}`)
  })
  return found
}

/** Of three people the first waits for the cut-over, the others fail at their licence. */
async function beginWave(world: World): Promise<number> {
  world.answer = ({ functionName, parameters }) => {
    const [name] = String(parameters.Upn).split('@')
    if (functionName === 'license' && name !== 'user1') return { fail: DENIED }
    return { ok: { mail: `${name}@fabrikam.example` } }
  }
  await world.publish(YAML)
  const batchId = await world.batch('wave', 3, { startsInMin: 120 })
  await world.settle()
  return batchId
}

describe('a person in the dashboard', () => {
  let dashboard: DashboardUnderTest
  let batchId: number
  const pathOf = async (number: number) =>
    `/batches/${batchId}/members/${await memberId(dashboard.world, batchId, number)}`
  before(async () => {
    dashboard = await openDashboard()
    batchId = await beginWave(dashboard.world)
  })
  after(() => dashboard.close())

  it('is found by the old and by the new address, and the search stands in the address', async () => {
    const opened = await dashboard.open('/people')
    const { page } = opened
    await page.getByText('Whom do you look for?').waitFor()
    await page.getByLabel('Old or new address').fill('USER1@contoso.example')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'user1@contoso.example' }).waitFor()
    assert.match(page.url(), /\?find=USER1%40contoso\.example$/)
    await assertSound(opened)
    await page.getByLabel('Old or new address').fill('user1@fabrikam.example')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('link', { name: 'user1@contoso.example' }).click()
    await page.getByRole('heading', { name: 'user1@contoso.example', level: 1 }).waitFor()
    await page.goBack()
    await page.getByLabel('Old or new address').fill('nobody@fabrikam.example')
    await page.keyboard.press('Enter')
    await page.getByText('No one has “nobody@fabrikam.example”').waitFor()
  })

  it('says where a waiting person is, what comes next and when, on a phone and in the dark', async () => {
    const opened = await dashboard.open(await pathOf(1), {
      viewport: { width: 390, height: 844 },
      colorScheme: 'dark',
    })
    const head = opened.page.getByRole('region', { name: 'What is going on' })
    await head.getByText(/^Waits for phase cutover at/).waitFor()
    const text = await head.innerText()
    assert.match(text, /Next: Phase cutover starts at .* with step switch\./)
    assert.match(text, /All steps of phase prepare are done\./)
    assert.match(text, /user1@contoso\.example/)
    assert.match(text, /user1@fabrikam\.example NewAddress/)
    const next = opened.page.getByRole('region', { name: 'What comes next' })
    assert.match(await next.innerText(), /Point of no return: after switch an undo leaves/)
    const box = await head.boundingBox()
    assert.ok(box && box.y + box.height < 844, 'the answer is in the first viewport')
    await assertSound(opened)
  })

  it('tells a failure with its meaning, its remedy and every attempt', async () => {
    const opened = await dashboard.open(await pathOf(2), {
      viewport: { width: 1280, height: 900 },
    })
    const { page } = opened
    const head = page.getByRole('region', { name: 'What is going on' })
    await head.getByText(/^Failed in prepare \/ license since/).waitFor()
    const text = await head.innerText()
    assert.match(text, /Insufficient privileges/)
    assert.match(text, /Who acts: .*A retry helps/s)
    assert.match(text, /Next: Nothing more happens for this person until the migration team acts\./)
    const done = page.getByRole('region', { name: 'What was done' })
    await done.getByRole('table', { name: 'Attempts of license, newest first' }).waitFor()
    await done.getByText('"Upn": "user2@contoso.example"').waitFor()
    assert.equal(await page.getByRole('region', { name: 'What comes next' }).count(), 0)
    await assertSound(opened)
  })

  it('retries only after the confirmation, and the page follows without a reload', async () => {
    const { world } = dashboard
    const opened = await dashboard.open(await pathOf(2))
    const { page } = opened
    const changes = changesOn(page)
    const jobs = world.jobs.length
    await page.getByRole('button', { name: 'Retry' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Retry: user2@contoso.example' })
    await dialog.getByText('Applies to 1 person.').waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Retry' }).isDisabled(), 'without a reason')
    await assertSound(opened)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await world.settle()
    assert.equal(world.jobs.length, jobs, 'asking and cancelling starts nothing')
    assert.ok(changes.length > 0 && changes.every((one) => one.includes('"dryRun":true')))

    await page.getByRole('button', { name: 'Retry' }).click()
    await dialog.getByLabel('Reason').fill('the permission is there')
    await dialog.getByRole('button', { name: 'Retry' }).click()
    await dialog.waitFor({ state: 'hidden' })
    const sent = changes.filter((one) => !one.includes('"dryRun":true'))
    assert.equal(sent.length, 1)
    assert.match(sent[0]!, /"expectedCount":1,"reason":"the permission is there"/)
    world.answer = () => ({ ok: true })
    await world.settle()
    // The stream looks for news by the system's clock.
    await world.pass(1)
    await page.getByText(/^Waits for phase cutover at/).waitFor()
    await page.getByText('the permission is there').first().waitFor()
    assert.equal(world.jobs.length, jobs + 1, 'only the failed step ran again')
  })

  it('holds and resumes one person', async () => {
    const { page } = await dashboard.open(await pathOf(1))
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    await page.getByLabel('Reason').fill('on leave')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Hold' }).click()
    const head = page.getByRole('region', { name: 'What is going on' })
    await head.getByText(/on leave/).waitFor()
    await head.getByText('Nothing new starts until the hold ends.').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByLabel('Reason').fill('is back')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Resume' }).click()
    await head.getByText(/^Waits for phase cutover at/).waitFor()
  })

  it('says that a person does not exist', async () => {
    const { page } = await dashboard.open(`/batches/${batchId}/members/999`)
    await page.getByRole('alert').getByText(/999/).waitFor()
  })

  describe('by role', () => {
    const issuer = new TestIssuer()
    let key: SigningKey
    let api: ApiUnderTest
    before(async () => {
      await issuer.open()
      key = await newKey('k')
      issuer.keys = [key]
      const oidc = {
        oidcIssuers: [issuer.v2],
        oidcAudiences: [AUDIENCE],
        oidcClientId: 'dashboard',
      }
      api = await openApiUnderTest({ config: oidc })
      await beginWave(api.world)
    })
    after(async () => {
      await api.close()
      await issuer.close()
    })

    /** As after the way through the issuer's pages. */
    async function openAs(role: string, view: string): Promise<TestPage & { asked: string[] }> {
      const opened = await openPage(dashboard.browser)
      const claims = claimsOf(issuer.v2, api.world.clock.now(), { roles: [role] })
      const grant = {
        accessToken: await signed(claims, key),
        refreshToken: null,
        endsAt: Number.MAX_SAFE_INTEGER,
      }
      await opened.page.addInitScript(
        (text) => sessionStorage.setItem('matoolkit.grant', text),
        JSON.stringify(grant),
      )
      const asked: string[] = []
      opened.page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
      await opened.page.goto(`${api.url}${view}`)
      return { ...opened, asked }
    }

    it('lets the help desk find one person and read the page, and shows no list and no action', async () => {
      const opened = await openAs('HelpDesk', '/')
      const { page, asked } = opened
      await page.getByText('Your role finds one person at a time').waitFor()
      assert.match(page.url(), /\/people$/)
      const screens = page.getByRole('navigation', { name: 'Screens' }).getByRole('link')
      assert.deepEqual(await screens.allInnerTexts(), ['People'])
      await page.getByLabel('Old or new address').fill('user2')
      await page.keyboard.press('Enter')
      await page.getByText('Your role finds a person by the whole address only.').waitFor()
      await page.getByLabel('Old or new address').fill('user2@fabrikam.example')
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'user2@contoso.example' }).click()
      await page.getByText(/^Failed in prepare \/ license since/).waitFor()
      await page.getByText('Who acts: an administrator of the tenant.').waitFor()
      await page.getByRole('table', { name: 'Attempts of license, newest first' }).waitFor()
      assert.equal(await page.getByRole('region', { name: 'What you can do' }).count(), 0)
      assert.equal(await page.getByRole('main').getByRole('button').count(), 0)
      assert.equal(await page.getByRole('link', { name: 'Batch' }).count(), 0)
      await assertSound(opened)
      const api = asked.filter((path) => path.startsWith('/api/'))
      const allowed = /^\/api\/(sign-in|me|members|batches\/\d+\/members\/\d+(\/effects)?)$/
      assert.deepEqual(
        api.filter((path) => !allowed.test(path)),
        [],
      )
    })

    it('has no page of a list for the help desk', async () => {
      const { page, faults } = await openAs('HelpDesk', '/failures')
      await page.getByText('There is no such page').waitFor()
      await page.getByRole('link', { name: 'Go to the start' }).click()
      await page.getByText('Whom do you look for?').waitFor()
      assert.deepEqual(faults, [])
    })

    it('shows a reader everything and no action', async () => {
      const id = await memberId(api.world, 1, 2)
      const opened = await openAs('Reader', `/batches/1/members/${id}`)
      await opened.page.getByText('"Upn": "user2@contoso.example"').waitFor()
      await opened.page.getByRole('link', { name: 'Batch 1' }).waitFor()
      assert.equal(await opened.page.getByRole('main').getByRole('button').count(), 0)
      assert.deepEqual(opened.faults, [])
    })
  })
})
