// Messages to people in the dashboard: who was told what, of a batch and of one person.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { holdBatch, rescheduleBatch } from '../../src/engine/batch-actions.ts'
import { order } from '../scenarios/looking.ts'
import { DAY, inDays, person, wave } from '../scenarios/message-wave.ts'
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
    assert.match(page.url(), /told=failed/)
    await page.getByLabel('Message state').selectOption('correction_owed')
    await lines.getByRole('link', { name: 'ada@contoso.example' }).click()
    await page.getByRole('heading', { name: 'Messages' }).waitFor()
    const own = page.getByRole('group', { name: 'Messages to this person' })
    await own.getByRole('row', { name: /notice .*correction owed de ada@/ }).waitFor()
    await assertSound(opened)
  })
})
