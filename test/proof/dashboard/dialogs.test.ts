// The dialogs of changes that no other story clicks: each is opened, cancelled without an effect, opened again, given a reason and
// confirmed. A Reader, signed in as one, is offered none of them; and a page prints without what is only for clicking.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import type { JsonObject } from '../../../src/base/text/json.ts'
import type { TestPage } from '../../kit/browser.ts'
import { batchOf, calls, memberId, runbook, step } from '../../stories/looking.ts'
import type { Job } from '../../stories/world.ts'
import { type DashboardWithRoles, openDashboardWithRoles } from './roles.ts'
import { assertSound } from './under-test.ts'

const PHASES = {
  'prepare T-5m': [step('create'), step('licence')],
  'cutover T-0': [step('switch')],
}
/** The story begins at 08:00 UTC. */
const WINDOW = 'windows: { time_zone: UTC, hours: [{ from: "10:00", to: "12:00" }] }'
const NIGHTLY = {
  'prepare T-5m ramp: [50%, 100%], soak: 30m, max_failed_percent: 2': [step('create')],
  'cutover T-0': [
    '{ name: finish, worker_id: w1, function: Complete-MigrationUser, params: { Identity: "{{Upn}}" } }',
  ],
}
const DAY_MIN = 24 * 60

/** Each change can be taken back, except for the switch, which is the point of no return. */
const LEDGER = {
  'prepare T-5m': ['make', 'rename', 'switch-over', 'tell'].map((name) => step(name)),
}
function effectOf({ functionName, parameters }: Job): JsonObject | undefined {
  const target = String(parameters.Upn)
  const undo = { functionName: `un-${functionName}`, parameters: { Upn: target } }
  const still = { ...undo.parameters, IfStill: { Value: 'new' } }
  return {
    begin: { changed: true, target, before: { exists: false }, undo },
    make: { changed: true, target, before: { exists: false }, undo, creates: [target] },
    rename: {
      changed: true,
      target,
      before: { mail: null },
      undo: { ...undo, parameters: still },
    },
    'switch-over': { changed: true, target, irreversible: 'It is over.', isPointOfNoReturn: true },
    tell: { changed: true, target, before: {}, undo, keeps: 'The mail was read.' },
  }[functionName]
}

describe('the dialogs of changes', () => {
  let dashboard: DashboardWithRoles
  let opened: TestPage
  let page: Page
  before(async () => {
    dashboard = await openDashboardWithRoles()
    const { world } = dashboard
    world.answer = (job) => {
      const { functionName, parameters } = job
      if (functionName === 'licence' && /user[3-5]@/.test(String(parameters.Upn)))
        return { fail: `no licence for ${parameters.Upn}` }
      if (functionName === 'tell' && /user2@/.test(String(parameters.Upn))) return 'silent'
      const effect = effectOf(job)
      return { ok: true, ...(effect && { effect }) }
    }
    await world.publish(runbook('wave', PHASES))
    await world.batch('wave', 8, { startsInMin: 5 })
    await world.batch('wave', [{ key: 'zoe@x.example', data: { Upn: 'zoe@x.example' } }], {
      startsInMin: 2 * DAY_MIN,
    })
    await world.batch('wave', [{ key: 'yan@x.example', data: { Upn: 'yan@x.example' } }], {
      manual: true,
    })
    for (const [place, key] of ['mia@x.example', 'tom@x.example'].entries())
      await world.batch('wave', [{ key, data: { Upn: key } }], {
        startsInMin: (3 + place) * DAY_MIN,
      })
    const steps = {
      'prepare T-5m': [step('create', 'on_failure: back')],
      'cutover T-0': [step('switch')],
    }
    await world.publish(`${runbook('undone', steps)}rollbacks:\n  back:\n    - ${step('delete')}\n`)
    await world.batch('undone', 2, { startsInMin: 5 })
    const gated = {
      'prepare T-5m': [step('create')],
      'cutover T-0 gate: { approvals: 1, ready: 95% }': [step('switch')],
    }
    await world.publish(runbook('asked', gated))
    await world.batch('asked', 2, { startsInMin: 5 })
    await world.publish(runbook('nightly', NIGHTLY, WINDOW))
    await world.batch('nightly', 2, { startsInMin: 5 })
    const begin = `init: [{ name: begin, worker_id: w1, function: begin, params: { Upn: batch } }]`
    await world.publish(runbook('ledger', LEDGER, begin))
    await world.batch('ledger', 3, { startsInMin: 5 })
    await world.settle()
    opened = await dashboard.openAs('Admin', '/batches/1')
    page = opened.page
  })
  after(() => dashboard.close())

  const dialog = () => page.getByRole('alertdialog')
  /** Everything that a change could touch. */
  const state = () =>
    dashboard.world.db.query(
      `select b.id, b.status, b.batch_start_time, b.held_reason, b.window_override_until, m.id as member, m.status as member_status,
              (select count(*) from holds) as holds, (select count(*) from step_executions) as steps,
              (select count(*) from phase_executions where status <> 'pending') as phases
         from batches b join batch_members m on m.batch_id = b.id order by b.id, m.id`,
    )

  const undoStepsOf = async (batchId: number): Promise<number> => {
    const sql = `select id from step_executions where kind = 'undo' and batch_id = $1`
    return (await dashboard.world.db.query(sql, [batchId])).length
  }

  interface Asked {
    readonly button: string
    /** Of the confirming button, if it says more. */
    readonly verb?: string
    /** What the preview says. */
    readonly says: RegExp
    readonly fill?: () => Promise<unknown>
  }

  /** Cancelled first, which changes nothing; then confirmed with a reason. */
  async function decide({ button, verb = button, says, fill }: Asked): Promise<void> {
    const earlier = await state()
    for (const isConfirmed of [false, true]) {
      await page.getByRole('button', { name: button, exact: true }).first().click()
      await fill?.()
      await dialog().getByText(says).first().waitFor()
      await dialog().getByLabel('Reason').fill(`because of ${button}`)
      const name = isConfirmed ? verb : 'Cancel'
      assert.deepEqual(await state(), earlier, `${button}: nothing before it is confirmed`)
      await dialog().getByRole('button', { name, exact: true }).click()
      await dialog().waitFor({ state: 'detached' })
    }
  }

  /** The reason stands in the audit once, so the change was made once. */
  async function assertAudited(button: string, action: string): Promise<void> {
    const rows = await dashboard.world.db.query<{ action: string }>(
      `select distinct action from audit where reason = $1 and action not like '%begun'`,
      [`because of ${button}`],
    )
    assert.deepEqual(rows, [{ action }])
  }

  async function shown(list: Locator, count: number): Promise<Locator> {
    await list.nth(count - 1).waitFor()
    assert.equal(await list.count(), count)
    return list
  }

  async function select(...numbers: readonly number[]): Promise<void> {
    for (const number of numbers)
      await page.getByRole('checkbox', { name: `user${number}@contoso.example` }).click()
    await page.getByText(`${numbers.length} selected.`).waitFor()
  }

  it('reschedule and cancel a batch', async () => {
    await page.goto(`${dashboard.url}/batches/2`)
    const fill = () => dialog().getByLabel('Start (T-0)').fill('2026-03-20T20:00')
    await decide({ button: 'Reschedule', says: /cutover/, fill })
    await assertAudited('Reschedule', 'batch.reschedule')
    await decide({
      button: 'Cancel batch',
      verb: 'Cancel this batch',
      says: /cannot be taken back/,
    })
    assert.equal((await batchOf(dashboard.world, 2)).status, 'cancelled')
    await assertAudited('Cancel batch', 'batch.cancel')
    assert.equal((await batchOf(dashboard.world, 1)).status, 'active', 'no other batch')
  })

  it('advance a batch by hand', async () => {
    await page.goto(`${dashboard.url}/batches/3`)
    await decide({
      button: 'Advance',
      verb: 'Start prepare',
      says: /prepare starts now for 1 people/,
    })
    await assertAudited('Advance', 'batch.advance')
  })

  it('skip, hold and remove several people at once', async () => {
    await page.goto(`${dashboard.url}/batches/1`)
    await select(3, 4)
    await decide({ button: 'Skip the step', says: /Applies to 2 people/ })
    await page.getByText('Skip the step: done for 2 people.').waitFor()
    await page.goto(`${dashboard.url}/batches/1`)
    await select(6, 7)
    await decide({ button: 'Hold', says: /Applies to 2 people/ })
    await page.getByText('Hold: done for 2 people.').waitFor()
    await page.goto(`${dashboard.url}/batches/1`)
    await select(7, 8)
    await decide({ button: 'Remove', says: /Applies to 2 people/ })
    await page.getByText('Remove: done for 2 people.').waitFor()
    assert.equal((await batchOf(dashboard.world, 1)).removed, 2)
  })

  it('add a person again', async () => {
    const { world } = dashboard
    await page.goto(`${dashboard.url}/batches/1/members/${await memberId(world, 1, 8)}`)
    await decide({ button: 'Add again', says: /takes part again/ })
    assert.equal((await batchOf(world, 1)).removed, 1)
    await assertAudited('Add again', 'members.readd')
  })

  it('move a person to a later batch', async () => {
    const { world } = dashboard
    const of = (batchId: number) =>
      world.db.query<{ id: number; key: string }>(
        `select id, member_key as key from batch_members where batch_id = $1 and status = 'active' order by key`,
        [batchId],
      )
    const [mia] = await of(4)
    await page.goto(`${dashboard.url}/batches/4/members/${mia!.id}`)
    const fill = () => dialog().getByLabel('To wave').selectOption('5')
    await decide({ button: 'Move', says: /goes to the other batch/, fill })
    await assertAudited('Move', 'members.move')
    const keys = [...(await of(4)), ...(await of(5))].map(({ key }) => key)
    assert.deepEqual(keys, ['mia@x.example', 'tom@x.example'])
    assert.deepEqual(await of(4), [])
  })

  it('roll back what was done for a person, and for nobody else', async () => {
    const { world } = dashboard
    await page.goto(`${dashboard.url}/batches/6/members/${await memberId(world, 6, 1)}`)
    await decide({ button: 'Roll back', says: /What was done is undone/ })
    await assertAudited('Roll back', 'members.rollback')
    await world.settle()
    const undone = world.jobs.filter(({ functionName }) => functionName === 'delete')
    assert.deepEqual(
      undone.map(({ parameters }) => parameters.Upn),
      ['user1@contoso.example'],
    )
  })

  it('show what was changed for a person, and take it back only as far as somebody asks', async () => {
    const { world } = dashboard
    const undoing = (from: number) => calls(world, from).filter((call) => call.startsWith('un-'))
    const before = world.jobs.length
    await page.goto(`${dashboard.url}/batches/9/members/${await memberId(world, 9, 1)}`)
    const changed = page.getByRole('region', { name: 'What we changed' })
    const lines = await (await shown(changed.getByRole('listitem'), 4)).allInnerTexts()
    assert.match(lines[0]!, /prepare\/make.*make.*was created.*Taken back by un-make.*beyond/s)
    assert.match(
      lines[1]!,
      /mail changed from empty to new.*before the point of no return, step switch-over/s,
    )
    assert.match(lines[2]!, /It is over\..*Point of no return: prepare\/switch-over/s)
    assert.match(lines[3]!, /Taken back by un-tell.*to undo.*The mail was read\./s)
    const done = page.getByRole('region', { name: 'What was done' })
    await done.getByText('Point of no return:').waitFor()
    await decide({ button: 'Undo this person…', verb: 'Undo', says: /tell is undone by un-tell/ })
    await assertAudited('Undo this person…', 'members.undo')
    await done.getByRole('heading', { name: 'Undo' }).waitFor()
    await world.settle()
    await world.pass(1)
    await page.getByText('What was changed for this person is undone').waitFor()
    assert.deepEqual(undoing(before), ['un-tell user1'], 'nothing behind the point of no return')

    await page.getByRole('button', { name: 'Undo this person…' }).click()
    await dialog()
      .getByText(/nothing left to undo: switch-over \(irreversible\)/)
      .waitFor()
    await dialog().getByLabel('Reason').fill('the tenant is given up')
    assert.ok(await dialog().getByRole('button', { name: 'Undo' }).isDisabled())
    await assertSound(opened)
    await dialog()
      .getByRole('checkbox', { name: /before the point of no return/ })
      .click()
    await dialog()
      .getByText(/prepare\/make is undone by un-make/)
      .waitFor()
    await dialog().getByRole('button', { name: 'Undo' }).click()
    await dialog().waitFor({ state: 'detached' })
    await world.settle()
    await world.pass(1)
    await changed.getByText('Nothing is left to undo.').waitFor()
    assert.deepEqual(undoing(before), ['un-tell user1', 'un-rename user1', 'un-make user1'])
    await assertSound(opened)
  })

  it('refuse the undo of a person whose job is under way', async () => {
    const { world } = dashboard
    await page.goto(`${dashboard.url}/batches/9/members/${await memberId(world, 9, 2)}`)
    await page.getByRole('button', { name: 'Undo this person…' }).click()
    await dialog().getByRole('checkbox').click()
    await dialog()
      .getByText(/has an unsettled job; undo it when the job has settled/)
      .waitFor()
    await dialog().getByLabel('Reason').fill('now')
    assert.ok(await dialog().getByRole('button', { name: 'Undo' }).isDisabled())
    await dialog().getByRole('button', { name: 'Cancel' }).click()
  })

  it('undo a wave: on hold, by a plan that is counted, as tracked steps, and init last', async () => {
    const { world } = dashboard
    const from = world.jobs.length
    const undoOf = () => undoStepsOf(9)
    const isHeld = async () => (await batchOf(world, 9)).held !== null
    await page.goto(`${dashboard.url}/batches/9`)
    const ask = () => page.getByRole('button', { name: 'Undo the wave…' }).click()
    const reason = () => dialog().getByLabel('Reason')
    await ask()
    await dialog().getByText('Hold it, so that nothing is sent meanwhile').waitFor()
    await reason().fill('the wave is off')
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await isHeld(), false)
    await ask()
    await reason().fill('the wave is off')
    await dialog().getByRole('button', { name: 'Hold batch' }).click()
    await dialog()
      .getByText(/prepare\/tell is undone by un-tell \(1 person\)/)
      .waitFor()
    await dialog().getByText('Applies to 1 of 3 people.').waitFor()
    const plan = await dialog().innerText()
    assert.match(
      plan,
      /Taken back, .*un-tell.*Left as it is:.*switch-over.*make stays \(2 people\)/s,
    )
    assert.equal(await isHeld(), true)
    await assertSound(opened)
    const before = await undoOf()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await undoOf(), before, 'a plan is not an undo')
    await ask()
    await dialog().getByText('Applies to 1 of 3 people.').waitFor()
    await reason().fill('the wave is off')
    await dialog().getByRole('button', { name: 'Undo' }).click()
    await dialog().getByText('Done for 1 person.').waitFor()
    await dialog()
      .getByText(/has an unsettled job/)
      .waitFor()
    await dialog().getByRole('button', { name: 'Close' }).click()
    const progress = page.getByText(/^Undo: 3 of 4 changes done\./)
    await progress.waitFor()
    assert.match(await progress.innerText(), /wait until the batch is resumed/)
    await world.settle()
    assert.deepEqual(calls(world, from), [], 'a hold holds an undo too')

    const resume = () =>
      dashboard.call('POST', '/api/holds/resume', {
        body: { scope: 'batch', target: '9', reason: 'the undo may run' },
      })
    await resume()
    await world.settle()
    await dashboard.call('POST', '/api/holds', {
      body: { scope: 'batch', target: '9', reason: 'init is next' },
    })
    await page.reload()
    await page.getByText(/^Undo: 4 of 4 changes done\./).waitFor()
    await decide({ button: 'Undo init…', verb: 'Undo init', says: /begin is undone by un-begin/ })
    await assertAudited('Undo init…', 'batch.undo-init')
    await resume()
    await world.settle()
    assert.deepEqual(calls(world, from), ['un-tell user3', 'un-begin batch'])
  })

  it('approve a gate, and withdraw it again', async () => {
    const { world } = dashboard
    await page.goto(`${dashboard.url}/batches/7`)
    const gate = page.getByRole('article', { name: 'Gate of cutover' })
    await gate.getByText('0 of 1 approvals', { exact: true }).waitFor()
    await gate.getByText('2 of 2 members ready (100 %, 95 % needed)').waitFor()
    await decide({ button: 'Approve cutover', verb: 'Approve', says: /cutover/ })
    await gate.getByText('1 of 1 approvals').waitFor()
    await assertSound(opened)
    await decide({ button: 'Withdraw my approval', verb: 'Withdraw', says: /cutover/ })
    await gate.getByText('0 of 1 approvals', { exact: true }).waitFor()
    const started = world.jobs.filter(
      ({ functionName, batchId }) => functionName === 'switch' && batchId === 7,
    )
    assert.deepEqual(started, [])
  })

  it('override the change window, send what waited, and end the override', async () => {
    const { world } = dashboard
    const sent = () => world.jobs.filter(({ batchId }) => batchId === 8).length
    await page.goto(`${dashboard.url}/`)
    const card = page.getByRole('region', { name: 'Batch 8, nightly' })
    await card.getByText(/^Waits for the change window, which opens/).waitFor()
    await page.goto(`${dashboard.url}/batches/8`)
    await page.getByText(/^Waits for the change window, which opens/).waitFor()
    const shares = page.getByRole('list', { name: 'Shares of the ramp' }).getByRole('listitem')
    assert.deepEqual(await shares.allInnerTexts(), ['50 % runs', '100 % to come'])
    await page.getByText('Point of no return: finish').waitFor()
    assert.equal(await page.locator('.mark-no-return').count(), 1, 'on the axis, in its lane only')
    await assertSound(opened)
    const button = 'Override change window'
    const fill = () => dialog().getByLabel('Until').fill('2026-03-02T09:30')
    const says = /1 step waits and changes a tenant/
    await decide({ button, verb: 'Override the window', says, fill })
    await assertAudited(button, 'batch.override_window')
    await page.getByText(/overridden until .* by .*: because of Override change window\./).waitFor()
    assert.equal(sent(), 0)
    await world.settle()
    assert.equal(sent(), 1, 'the first share')
    await page.goto(`${dashboard.url}/batches/8`)
    await shares.filter({ hasText: /^50 % soaks until/ }).waitFor()
    await page.getByText('0 of 1 member failed so far, 2 % may.').waitFor()
    const end = 'End window override'
    await decide({ button: end, verb: 'End the override', says: /0 jobs are out/ })
    await assertAudited(end, 'batch.override_window')
    await page.getByRole('button', { name: button }).waitFor()
    await world.pass(30 * 60)
    assert.equal(sent(), 1, 'the second share waits for the window')
    const reader = await dashboard.openAs('Reader', '/batches/8')
    await reader.page.getByText(/^Waits for the change window/).waitFor()
    assert.equal(await reader.page.getByRole('button', { name: /window/ }).count(), 0)
  })

  it('are not offered to a Reader, and a page prints without buttons', async () => {
    const reader = await dashboard.openAs('Reader', '/batches/1')
    await reader.page.getByRole('gridcell').first().waitFor()
    const offered = await reader.page.getByRole('button').allInnerTexts()
    for (const verb of [
      'Hold batch',
      'Reschedule',
      'Cancel batch',
      'Retry',
      'Remove',
      'Skip the step',
      'Undo the wave…',
    ])
      assert.ok(!offered.includes(verb), `a Reader sees ${verb}`)
    assert.equal(await reader.page.getByRole('checkbox').count(), 0)
    await assertSound(reader)
    const id = await memberId(dashboard.world, 9, 3)
    await reader.page.goto(`${dashboard.url}/batches/9/members/${id}`)
    const changed = reader.page.getByRole('region', { name: 'What we changed' })
    await changed.getByText('Taken back by un-tell').waitFor()
    assert.equal(await changed.getByRole('button').count(), 0, 'a Reader sees no undo')
    await page.goto(`${dashboard.url}/batches/1`)
    await page.getByRole('button', { name: 'Hold batch' }).waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.getByRole('button', { name: 'Hold batch' }).isVisible(), false)
    assert.equal(await page.getByRole('navigation').first().isVisible(), false, 'navigation')
    assert.equal((await page.pdf()).subarray(0, 5).toString(), '%PDF-')
    await page.emulateMedia({ media: 'screen' })
  })
})
