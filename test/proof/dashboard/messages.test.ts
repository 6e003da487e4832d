// Messages to people in the dashboard: what was sent, of a batch and of one person; and what somebody would be told, where nothing that
// a runbook or a person's data holds can run.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { holdBatch, rescheduleBatch } from '../../../src/engine/orders/batch-actions.ts'
import { order } from '../../stories/looking.ts'
import { DAY, inDays, person, wave } from '../../stories/message-wave.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

describe('messages to people in the dashboard', () => {
  let dashboard: DashboardUnderTest
  before(async () => {
    dashboard = await openDashboard()
    const { world } = dashboard
    world.answer = ({ parameters }) =>
      parameters.To === 'max@contoso.example' ? { fail: 'the mailbox is full' } : { ok: true }
    await world.publish(wave())
    const people = [person('ada', 'de-AT'), person('kim', 'fr'), person('max')]
    await world.batch('wave', people, { startsInMin: 14 * DAY })
    await world.settle()
    await holdBatch(world.engine, order(1))
    await rescheduleBatch(world.engine, { ...order(1), startTime: inDays(20), allowOverdue: false })
    await world.settle()
  })
  after(() => dashboard.close())

  it('are counted by step and language, listed and filtered, and lead to the person', async () => {
    const opened = await dashboard.open('/batches/1')
    const { page } = opened
    const steps = page.getByRole('group', { name: 'Messages by step' })
    await steps.getByRole('row', { name: /announce \/ tell notice .* 2 0 1$/ }).waitFor()
    const lines = page.getByRole('group', { name: 'Messages to people' })
    await lines.getByRole('row', { name: /ada@.* notice .*correction owed de/ }).waitFor()
    assert.equal(await lines.getByText('max@contoso.example').count(), 0)
    await assertSound(opened)
    await page.getByLabel('Message state').selectOption('failed')
    await lines.getByText('the mailbox is full').waitFor()
    assert.equal(await lines.getByText('ada@contoso.example').count(), 0)
    assert.match(page.url(), /messages=failed/)
    await page.getByLabel('Message state').selectOption('correction_owed')
    await lines.getByRole('link', { name: 'ada@contoso.example' }).click()
    await page.getByRole('heading', { name: 'Messages' }).waitFor()
    const own = page.getByRole('group', { name: 'Messages to this person' })
    await own.getByRole('row', { name: /notice .*correction owed de ada@/ }).waitFor()
    await assertSound(opened)
  })

  it('are previewed for a person, in each language, and nothing is sent', async () => {
    const sent = dashboard.world.jobs.length
    const opened = await dashboard.open('/batches/1?messagesTo=kim')
    const { page } = opened
    const lines = page.getByRole('group', { name: 'Messages to people' })
    await lines.getByRole('button', { name: 'Preview' }).click()
    const preview = page.getByRole('region', { name: 'Preview for kim@contoso.example' })
    await preview.getByText('Your move, kim').waitFor()
    await preview.getByText('en: the step asks for "fr", which the message does not have').waitFor()
    const frame = preview.frameLocator('iframe')
    await frame.getByText('kim: Sunday, 22 March 2026, 09:00 CET').waitFor()
    await preview.getByRole('button', { name: 'de', exact: true }).click()
    await frame.getByText('kim: Sonntag, 22. März 2026, 09:00 MEZ').waitFor()
    await preview.getByLabel('Message').selectOption('moved')
    await preview.getByText('Nicht Montag, 16. März 2026, sondern Sonntag, 22. März 2026').waitFor()
    await assertSound(opened)
    assert.equal(dashboard.world.jobs.length, sent)
  })

  it('of a runbook are previewed from its editor as it is written', async () => {
    const opened = await dashboard.open('/runbooks/wave/edit?show=messages')
    const { page } = opened
    const section = page.getByRole('region', { name: 'Messages' })
    await section.getByText('Your move, sample value').waitFor()
    await section.getByText('a made-up member').waitFor()
    // Typed, not pasted: Chromium itself marks pasted text with styles, which the policy refuses.
    const before = wave().slice(0, wave().indexOf('Your move')).split('\n')
    await page.getByRole('textbox', { name: 'Runbook text' }).focus()
    await page.keyboard.press('Control+Home')
    for (const _ of before.slice(1)) await page.keyboard.press('ArrowDown')
    for (const _ of before.at(-1)!) await page.keyboard.press('ArrowRight')
    await page.keyboard.type('Now: ')
    await section.getByText('Now: Your move, sample value').waitFor()
    await assertSound(opened)
    const tab = await dashboard.open('/runbooks/wave?tab=messages')
    await tab.page.getByText('Your move, sample value').waitFor()
    await assertSound(tab)
  })

  it('run nothing and load nothing, whatever a runbook or a name holds', async () => {
    const hostile = `<p style='color: red' onclick='top.ran = 1'>{{Name}}</p><script>top.ran = 1</script><img src='https://elsewhere.example/x.png' onerror='top.ran = 1'><iframe srcdoc='<script>top.ran = 1</script>'></iframe><form action='https://elsewhere.example'><button>go</button></form><meta http-equiv='refresh' content='0;url=https://elsewhere.example'>`
    const { world } = dashboard
    const yaml = wave().replaceAll('name: wave', 'name: hostile')
    await world.publish(yaml.replaceAll(/<p>\{\{Name\}\}[^"]*<\/p>/g, hostile))
    const name = '<img src=x onerror=top.ran=1><script>top.ran=1</script>"\'&'
    const { key, data } = person('eve')
    const batchId = await world.batch('hostile', [{ key, data: { ...data, Name: name } }], {
      startsInMin: 14 * DAY,
    })
    await world.settle()
    const opened = await dashboard.open(`/batches/${batchId}`)
    const { page } = opened
    await page.getByRole('button', { name: 'Preview', exact: true }).click()
    const frame = page.frameLocator('iframe')
    await frame.getByText(name).waitFor()
    assert.equal(
      await frame.locator('img, script, form, iframe, meta, [style], [onclick]').count(),
      0,
    )
    assert.equal(await page.evaluate('window.ran'), undefined)
    assert.equal(await page.locator('iframe').getAttribute('sandbox'), '')
    await assertSound(opened)
  })
})
