// Failures over all batches in the dashboard: understood once, repaired for everybody after one question.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { runbook, step } from '../../stories/looking.ts'
import { people } from '../../stories/world.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

const DENIED =
  'Microsoft Graph returned 403 Authorization_RequestDenied: Insufficient privileges to complete the operation.'
const YAML = runbook('wave', {
  'prepare T-2h': [step('license')],
  'cutover T-0': [step('switch')],
})

describe('failures in the dashboard', () => {
  let dashboard: DashboardUnderTest
  before(async () => {
    dashboard = await openDashboard()
    const { world } = dashboard
    const failing = ['user1', 'user2', 'user5']
    world.answer = ({ parameters }) => {
      const [name] = String(parameters.Upn).split('@')
      if (name === 'user3') return { fail: 'Mailbox 4711 is odd' }
      return failing.includes(name!) ? { fail: DENIED } : { ok: true }
    }
    await world.publish(YAML)
    await world.batch('wave', 4, { startsInMin: 120 })
    await world.batch('wave', people(6).slice(4), { startsInMin: 150 })
    await world.pass(30 * 60)
  })
  after(() => dashboard.close())

  it('shows each failure once, with meaning, batches and an example', async () => {
    const opened = await dashboard.open('/failures', { viewport: { width: 1280, height: 900 } })
    const { page } = opened
    const denied = page.getByRole('region', { name: '3 failed at prepare / license' })
    await denied.getByText(/Who acts: an administrator of the tenant\./).waitFor()
    await denied.getByText('An example').click()
    await denied.getByText('1 attempt').waitFor()
    const batches = denied.getByRole('list', { name: 'Batches' }).getByRole('link')
    assert.deepEqual(await batches.allInnerTexts(), ['Batch 2: 1', 'Batch 1: 2'])
    assert.match(
      (await batches.last().getAttribute('href'))!,
      /^\/batches\/1\?pattern=Microsoft.*&failedStep=license&failedPhase=prepare$/,
    )
    await page.getByRole('region', { name: '1 failed at prepare / license' }).waitFor()
    await assertSound(opened)

    await page.getByRole('combobox', { name: /^Batch/ }).selectOption('2')
    await page.getByRole('region', { name: '1 failed at prepare / license' }).waitFor()
    assert.match(page.url(), /\?batchId=2$/)
    assert.equal(await page.getByText('Mailbox 4711 is odd').count(), 0, 'of batch 1 only')
  })

  it('is readable on a phone in the dark', async () => {
    const opened = await dashboard.open('/failures', {
      viewport: { width: 390, height: 844 },
      colorScheme: 'dark',
    })
    await opened.page.getByText('Mailbox 4711 is odd').waitFor()
    const width = await opened.page.evaluate('document.documentElement.scrollWidth')
    assert.ok(Number(width) <= 390, `the page is ${width} wide`)
    await assertSound(opened)
  })

  it('retries a group over its batches after one question, and nobody else', async () => {
    const { world } = dashboard
    const opened = await dashboard.open('/failures')
    const { page } = opened
    const changes: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') changes.push(request.postData()!)
    })
    const isDry = (body: string) => body.includes('"dryRun":true')
    const jobs = world.jobs.length
    const group = page.getByRole('region', { name: '3 failed at prepare / license' })
    await group.getByText('Retry these 3').click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('Applies to 3 people.').waitFor()
    assert.deepEqual(await dialog.getByRole('listitem').allInnerTexts(), [
      'Batch 2: 1 person',
      'Batch 1: 2 people',
    ])
    await assertSound(opened)
    assert.ok(changes.length === 2 && changes.every(isDry))
    await world.settle()
    assert.equal(world.jobs.length, jobs, 'nothing before the confirmation')

    await dialog.getByLabel('Reason').fill('the permission is there')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    assert.equal(changes.filter((body) => !isDry(body)).length, 2)
    world.answer = () => ({ ok: true })
    await world.settle()
    const retried = world.jobs.slice(jobs).map(({ parameters }) => String(parameters.Upn))
    assert.deepEqual(retried.map((upn) => upn.split('@')[0]).sort(), ['user1', 'user2', 'user5'])
    await group.waitFor({ state: 'hidden' })
    await page.getByText('Mailbox 4711 is odd').waitFor()
  })

  it('says when nothing is left', async () => {
    const { page } = await dashboard.open('/failures')
    await page.getByText('Skip the step').click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByLabel('Reason').fill('moved by hand')
    await dialog.getByRole('button', { name: 'Skip the step' }).click()
    await page.getByText('Nothing has failed').waitFor()
  })
})
