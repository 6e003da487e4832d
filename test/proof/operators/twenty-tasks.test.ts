// A lead's night in twenty tasks, each on the command line and in the browser of the same system: what the screen says before the act and
// after it. A task takes at most two commands, or four clicks; typing, and looking at the page where one already is, are free.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import type { RehearsalOrder } from '../../../src/api/services/rehearsals.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import type { Json } from '../../../src/base/text/json.ts'
import { recordWorker } from '../../../src/db/state/workers.ts'
import { type Said, say, setEnv, WIDE } from '../../cli/against-api.ts'
import { calls } from '../../stories/looking.ts'
import { type DashboardUnderTest, openDashboard } from '../dashboard/under-test.ts'
import { BROKEN, beginNight, keyOf, person, TONIGHT, WAVE } from './lead-night.ts'

const COMMANDS_MAX = 2
const CLICKS_MAX = 4
const WHY = ['--reason', 'as agreed', '--yes']

/** What a task took. */
interface Took {
  commands: number
  clicks: number
}

describe('twenty tasks of a cut-over night', () => {
  let dashboard: DashboardUnderTest
  let page: Page
  let folder: string
  let took: Took
  const done = new Map<number, Took>()
  const begun: RehearsalOrder[] = []
  const broken = new Map(Object.entries(BROKEN))

  before(async () => {
    const run = (order: RehearsalOrder, signal: AbortSignal) => {
      begun.push(order)
      const { promise, reject } = Promise.withResolvers<Json>()
      signal.addEventListener('abort', () => reject(new Error('the test has ended')))
      return promise
    }
    dashboard = await openDashboard({
      options: { runRehearsal: { faultNames: ['throttling'], run } },
    })
    folder = mkdtempSync(join(tmpdir(), 'matoolkit-tasks-'))
    setEnv({
      MATOOLKIT_HOME: join(folder, 'home'),
      MATOOLKIT_API_URL: dashboard.url,
      MATOOLKIT_TOKEN: dashboard.token,
    })
    await beginNight(dashboard, broken)
    page = (
      await dashboard.open('/', {
        viewport: { width: 1280, height: 1000 },
        timezoneId: 'UTC',
        locale: 'en-GB',
      })
    ).page
    await page.getByRole('heading', { level: 1 }).waitFor()
  })
  after(async () => {
    await dashboard.close()
    rmSync(folder, { recursive: true })
    setEnv({ MATOOLKIT_HOME: undefined, MATOOLKIT_API_URL: undefined, MATOOLKIT_TOKEN: undefined })
  })

  const command = (...args: string[]): Promise<Said> => {
    took.commands += 1
    return look(...args)
  }
  /** A command outside the task, to see what has become of it. */
  const look = (...args: string[]) =>
    say({ width: WIDE, now: dashboard.world.clock.now(), zone: 'UTC' }, args)
  const click = async (what: Locator): Promise<void> => {
    took.clicks += 1
    await what.click()
  }
  const button = (name: string | RegExp, within: Page | Locator = page) =>
    within.getByRole('button', { name, exact: typeof name === 'string' })
  const dialog = () => page.getByRole('alertdialog')
  const verdict = () => page.getByRole('region', { name: 'Who is needed' })
  /** Where the task begins: the page where people happen to be. */
  const at = async (path: string): Promise<void> => {
    await page.evaluate(`history.pushState({}, '', '${path}')`)
    await page.locator('#content h1').first().waitFor()
  }
  /** Gives the reason, and confirms. */
  const confirm = async (verb: string): Promise<void> => {
    await dialog().getByLabel('Reason').fill('as agreed')
    await click(button(verb, dialog()))
    await dialog().waitFor({ state: 'detached' })
  }
  /** Writes the name into the search of the header, and opens the person of tonight's wave. */
  const openPerson = async (name: string): Promise<void> => {
    await page.getByLabel('Find a person').fill(keyOf(name))
    await page.keyboard.press('Enter')
    await click(page.getByRole('link', { name: keyOf(name) }).first())
    await page.getByRole('heading', { name: new RegExp(name, 'i'), level: 1 }).waitFor()
  }
  const settled = async (): Promise<void> => {
    await dashboard.world.settle()
    // Screens look for news by the system's clock.
    await dashboard.world.pass(2)
  }
  const announce = () =>
    dashboard.world.db.transaction((tx) =>
      recordWorker(
        tx,
        { workerId: 'w1', version: '1', slots: 1_000, functions: [] },
        dashboard.world.clock.now(),
      ),
    )
  const ok = async (answer: Promise<Said>): Promise<string> => {
    const { exit, out, err } = await answer
    assert.equal(exit, EXIT.ok, `${out}${err}`)
    return out
  }

  const task = (number: number, what: string, run: () => Promise<void>): void => {
    it(`${number}: ${what}`, async (test) => {
      took = { commands: 0, clicks: 0 }
      await run()
      done.set(number, took)
      test.diagnostic(`task ${number}: ${took.commands} commands, ${took.clicks} clicks`)
      assert.ok(took.commands <= COMMANDS_MAX, `${took.commands} commands`)
      assert.ok(took.clicks <= CLICKS_MAX, `${took.clicks} clicks`)
    })
  }

  task(1, 'what runs tonight, from when and for how many', async () => {
    const out = await ok(command('batch', 'list', '--tonight'))
    assert.match(out, /\n *2 +wave .*active +12:00 UTC .*4 preparing, 4 failed, 4 rolled back/)
    assert.doesNotMatch(out, /\n *3 +wave/, 'not next week’s')
    const card = page.getByRole('region', { name: 'Batch 2, wave' })
    await card.getByText(/^Cut-over 2 Mar 2026, 12:00/).waitFor()
    await card.getByText('4 preparing, 4 failed, 4 rolled back').waitFor()
  })

  task(2, 'are we OK: a true no, about the greatest harm', async () => {
    const { exit, out } = await command('status')
    assert.equal(exit, EXIT.needed)
    const gate = /Action needed: Phase cutover of batch 2 has 0 of 1 approvals for the start at /
    assert.match(out, gate)
    await verdict().getByText(gate).waitFor()
    assert.match(await page.title(), /^\(2!\) /)
  })

  task(3, 'who needs help, and why', async () => {
    assert.match(
      (await command('status')).out,
      /8 people of batch 2 failed\n[\s\S]*matoolkit failures 2\n/,
    )
    const out = await ok(command('failures', '2'))
    assert.match(out, /\n +2 +dan@\S+ eve@\S+ +prepare +mailbox .*The archive is full\./)
    assert.match(out, /\n +2 +hal@\S+ ida@\S+ +prepare +licence .*No licence is left\./)
    await click(page.getByRole('link', { name: 'See the failures' }).first())
    await page.getByText('The archive is full.').waitFor()
    await page.getByText('No licence is left.').waitFor()
  })

  task(4, 'retry everybody of one cause, also where a rollback took them back', async () => {
    for (const name of ['dan', 'eve', 'finn', 'gia', 'hal', 'ida']) broken.delete(name)
    const archive = ['--failed-step', 'mailbox', '--error', 'archive']
    assert.match(
      await ok(command('batch', 'retry', '2', ...archive, ...WHY)),
      /^2 people were retried: dan@.*, eve@/,
    )
    const licence = ['--failed-step', 'licence', '--error', 'No licence']
    const back = await ok(command('batch', 'retry', '2', ...licence, ...WHY))
    assert.match(back, /^2 people were retried: hal@.*, ida@/)
    const from = dashboard.world.jobs.length
    await settled()
    assert.deepEqual(
      calls(dashboard.world, from)
        .filter((call) => /hal|ida/.test(call))
        .slice(0, 2)
        .sort(),
      ['create hal', 'create ida'],
      'from the first step whose effect is gone',
    )
    assert.match(await ok(look('batch', 'members', '2', '--search', 'hal')), /hal@\S+ +preparing/)

    await at('/failures?batchId=2')
    const quota = page
      .getByRole('region', { name: /^2 failed at prepare/ })
      .filter({ hasText: 'The quota' })
    await quota.waitFor()
    await click(button('Retry these 2', quota))
    await dialog().getByText('Applies to 2 people.').waitFor()
    await confirm('Retry')
    await settled()
    await quota.waitFor({ state: 'detached' })
    broken.delete('jon')
    const namesake = page
      .getByRole('region', { name: /^2 failed at prepare/ })
      .filter({ hasText: 'A namesake' })
    await click(button('Retry these 2', namesake))
    await dialog().getByText('Applies to 2 people.').waitFor()
    await confirm('Retry')
    await settled()
    await page.getByRole('region', { name: '1 failed at prepare / licence' }).waitFor()
    await verdict()
      .getByText(/0 of 1 approvals/)
      .waitFor()
  })

  task(5, 'hold one wave, say why, and know that nothing of it runs', async () => {
    assert.match(
      await ok(command('hold', '--batch', '2', '--reason', 'mail bounces')),
      /^Batch 2 is held\. Nothing new is sent/,
    )
    assert.match(await ok(look('batch', 'get', '2')), /held +since .*: mail bounces/)
    await at('/batches/2')
    await page
      .locator('.lead')
      .getByText(/On hold since .*: mail bounces\. Nothing new starts\./)
      .waitFor()
    await click(button('Resume batch'))
    await confirm('Resume batch')
    await button('Hold batch').waitFor()
    await click(button('Hold batch'))
    await confirm('Hold batch')
    await page
      .locator('.lead')
      .getByText(/On hold since .*: as agreed/)
      .waitFor()
    assert.match(await ok(command('resume', '--batch', '2', ...WHY)), /resumed +batch 2/i)
  })

  task(6, 'stop everything: every screen says so, with the way to end it', async () => {
    assert.match(
      await ok(command('hold', '--all', '--reason', 'mail is down')),
      /^The whole system is held\./,
    )
    const held = /Action needed: The whole system is held by .*: mail is down/
    assert.match((await look('status')).out, held)
    for (const path of ['/', '/batches/2', '/failures', '/people']) {
      await at(path)
      await verdict().getByText(held).waitFor()
    }
    await click(button('Resume everything'))
    await confirm('Resume everything')
    assert.doesNotMatch((await look('status')).out, /whole system/)
    await click(button('Hold everything'))
    await confirm('Hold everything')
    await verdict()
      .getByText(/The whole system is held by .*: as agreed/)
      .waitFor()
    await ok(command('resume', '--all', ...WHY))
  })

  task(7, 'let one person leave out a step', async () => {
    broken.set('kim', ['switch', 'never'])
    const skip = ['batch', 'skip', '2', '--members', keyOf('tilda')]
    assert.match(await ok(command(...skip, '--dry-run')), /^1 person would skip the step: tilda/)
    await openPerson('tilda')
    await click(button('Skip the step'))
    await dialog().getByText('Applies to 1 person.').waitFor()
    await dialog()
      .getByText(/The step: prepare \/ licence: A namesake has the plan\./)
      .waitFor()
    await click(button('Cancel', dialog()))
  })

  task(8, 'move one person to next week, and lose no approval silently', async () => {
    await dashboard.call('POST', `/api/batches/${TONIGHT}/gates/cutover`, {
      body: { decision: 'approve', reason: 'checked' },
    })
    const move = ['batch', 'move-member', '2', keyOf('leo'), '--to', '2026-03-09']
    const loses = /approval of .* for phase cutover of batch 2/i
    const tried = await command(...move, '--dry-run')
    assert.match(`${tried.out}${tried.err}`, loses)
    const moved = await command(...move, ...WHY)
    assert.match(`${moved.out}${moved.err}`, /1 person was moved: leo/)
    assert.match(`${moved.out}${moved.err}`, loses)
    assert.match((await look('status')).out, /Phase cutover of batch 2 has 0 of 1 approvals/)
    await openPerson('mia')
    await click(button('Move'))
    await dialog()
      .getByLabel('To wave')
      .selectOption({ label: '9 Mar 2026, 08:00, batch 3: 3 scheduled' })
    await dialog().getByText('Applies to 1 person.').waitFor()
    await confirm('Move')
    await page
      .getByText(/moved to batch 3/i)
      .first()
      .waitFor()
  })

  task(9, 'take one person back completely', async () => {
    const undo = ['batch', 'undo', '2', keyOf('gia')]
    assert.match(
      await ok(command(...undo, '--dry-run')),
      /mailbox .*un-mailbox[\s\S]*create .*un-create/,
    )
    assert.match(await ok(command(...undo, ...WHY)), /^1 person was taken back: gia/)
    await settled()
    assert.match(await ok(look('batch', 'members', '2', '--search', 'gia')), /gia@\S+ +taken back/)
    await openPerson('finn')
    await click(button('Undo this person…'))
    await dialog()
      .getByText(/create is undone by un-create/)
      .waitFor()
    await confirm('Undo')
    await settled()
    await page.getByText(/Taken back: what was changed for this person is undone/).waitFor()
    assert.equal(await button('Skip the step').count(), 0, 'no failed step is left')
    assert.doesNotMatch((await look('failures', '2')).out, /gia@|finn@/, 'an undo is no failure')
  })

  task(10, 'approve the gate: it says open', async () => {
    const approve = ['batch', 'approve', '2', 'cutover', '--reason', 'as agreed']
    assert.match(await ok(command(...approve)), /open|1 of 1/)
    assert.doesNotMatch((await look('status')).out, /approvals/)
    await ok(look(...approve, '--withdraw'))
    await at('/batches/2')
    const gate = page.getByRole('article', { name: 'Gate of cutover' })
    await gate.getByText('0 of 1 approvals', { exact: true }).waitFor()
    await verdict()
      .getByText(/has 0 of 1 approvals/)
      .waitFor()
    await click(button('Approve cutover'))
    await confirm('Approve')
    await gate.getByText('1 of 1 approvals').waitFor()
    await gate.getByText(/may start at its time/).waitFor()
    await verdict()
      .getByText(/Action needed: 1 person of batch 2 failed/)
      .waitFor()
  })

  task(11, 'when tonight ends, with its latest bound', async () => {
    const { world } = dashboard
    // 12:01: three are through.
    await world.clock.advance(50 * 60_000)
    await world.orchestrate()
    await world.clock.advance(60_000)
    await announce()
    await world.work(3)
    await world.orchestrate()
    const out = (await command('status')).out
    assert.match(
      out,
      /cutover .*running, 3 of \d+ through.* about 12:0\d.* UTC, latest 12:\d\d.* UTC/,
    )
    await at('/')
    const card = page.getByRole('region', { name: 'Batch 2, wave' })
    await card
      .getByText(/cutover ends about 2 Mar 2026, 12:0\d, latest 2 Mar 2026, 12:\d\d/)
      .waitFor()
    broken.delete('kim')
    await settled()
    await at('/batches/2')
    // Sooner than it is read again: no answer was kept.
    const passed = page.getByRole('article', { name: 'Gate of cutover' }).getByText(/: passed/)
    await passed.waitFor({ timeout: 3_500 })
  })

  task(12, 'find Tilda Adler, and tell her story', async () => {
    const out = await ok(command('member', 'find', 'Tilda Adler'))
    assert.match(out, /tilda@\S+ +.*rolled back/)
    assert.match(out, /A namesake has the plan\./)
    await page.getByLabel('Find a person').fill('Tilda Adler')
    await page.keyboard.press('Enter')
    await click(page.getByRole('link', { name: keyOf('tilda') }))
    const head = page.getByRole('region', { name: 'What is going on' })
    await head.getByText(/^Failed in prepare \/ licence, rolled back/).waitFor()
    await head.getByText('The error: A namesake has the plan.').waitFor()
    await page.getByText('Tilda Adler').first().waitFor()
  })

  task(13, 'who has not moved yet, over all waves, as a file', async () => {
    const csv = await ok(command('member', 'find', '--not-moved', '--output', 'csv'))
    const lines = csv.trim().split('\n')
    assert.match(lines[0]!, /NAME,DEPARTMENT,BATCH,RUNBOOK,CUT-OVER/i)
    assert.match(csv, /tilda@contoso\.example,Tilda Adler,Sales,2,/)
    assert.match(csv, /pia@contoso\.example,Pia Adler,Sales,3,/)
    assert.doesNotMatch(csv, /ada@|dan@/, 'they are through')
    await click(
      page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'People' }),
    )
    await click(page.getByRole('link', { name: 'Everyone who has still to be cut over' }))
    await page.getByRole('region', { name: `Still to be cut over: ${lines.length - 1}` }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      click(button('Download CSV')),
    ])
    assert.equal(download.suggestedFilename(), 'not-moved.csv')
  })

  task(14, 'late joiners: the refusal says what to edit', async () => {
    const file = join(folder, 'late.csv')
    writeFileSync(file, 'UserPrincipalName,When\r\nzoe@contoso.example,2026-03-09 08:00\r\n')
    const { exit, err } = await command('batch', 'add-members', '3', file, ...WHY)
    assert.notEqual(exit, EXIT.ok)
    assert.match(
      err,
      /Batch 3 takes its people from its data source\. Add the rows to x\.csv with When Mon 09 Mar 08:00 UTC, then run "matoolkit automation tick wave"\./,
    )
    assert.doesNotMatch(err, /request|Check the current state/i)
  })

  task(15, 'change the runbook in flight, the effect seen first', async () => {
    const file = join(folder, 'next.yaml')
    writeFileSync(file, WAVE.replace('offset: T+1d', 'offset: T+2d'))
    const out = await ok(command('runbook', 'publish', file, '--dry-run'))
    assert.match(out, /\nBatch 2 \(\d+ people\), from version 1:\n {2}prepare stays as it is\n/)
    assert.match(await ok(command('runbook', 'publish', file, ...WHY)), /version 2/)
    await settled()
    assert.match(await ok(look('batch', 'get', '2')), /aftercare +.*04 Mar/)
    await at('/runbooks/wave')
    await page
      .getByText(/version 2/i)
      .first()
      .waitFor()
  })

  task(16, 'rehearse the next wave', async () => {
    await at('/batches/3')
    await click(button('What if …'))
    await page.getByLabel('Slots of every worker').fill('16')
    await click(button('Rehearse it'))
    await page.getByText('Under way').waitFor()
    assert.deepEqual(
      begun
        .at(-1)!
        .rows.map((row) => row.UserPrincipalName)
        .sort(),
      ['leo', 'mia', 'pia', 'quin'].map(keyOf),
    )
  })

  task(17, 'a worker does nothing: the cause, and where to look', async () => {
    const { world } = dashboard
    world.workers = []
    await world.batch('wave', [person('ulf')], { startsInMin: 30 })
    await world.orchestrate()
    await world.clock.advance(70_000)
    const silent = /Worker w1 was last seen at .*; 1 step waits for it in batch 4/
    assert.match((await command('status')).out, silent)
    assert.match((await command('worker', 'list', 'w1')).out, /silent/)
    await at('/')
    await verdict().getByText(silent).waitFor()
    await click(verdict().getByRole('link', { name: 'See the worker' }))
    await page.getByRole('heading', { name: 'Worker w1' }).waitFor()
    await page.getByRole('region', { name: 'State and load' }).getByText('silent').waitFor()
    world.workers = ['w1']
    await announce()
    await settled()
    assert.doesNotMatch((await look('status')).out, silent)
  })

  task(18, 'hand over the shift in one text', async () => {
    const { out } = await command('handover')
    assert.match(out, /^Hand-over at .*, since .*\nAction needed: /)
    assert.match(out, /\nWaves\n[\s\S]*batch 2 of wave/)
    assert.match(out, /\nWhat people decided\n[\s\S]*mail bounces/)
    await click(page.getByRole('link', { name: 'Hand-over' }))
    await page
      .getByRole('region', { name: 'What people decided' })
      .getByText('mail bounces')
      .waitFor()
    await page
      .getByRole('region', { name: 'Waves' })
      .getByText(/of \d+ cut over/)
      .first()
      .waitFor()
  })

  task(19, 'prove to an auditor what happened', async () => {
    const out = await ok(command('audit', 'list', '--subject', 'batch 2'))
    assert.match(out, /members\.undo .*as agreed/)
    assert.match((await command('audit', 'verify')).out, /chain +ok/)
    await click(page.getByRole('link', { name: 'Audit' }))
    await page.getByText('members.undo').first().waitFor()
    await click(button('Verify chain'))
    await page
      .getByText(/intact/i)
      .first()
      .waitFor()
  })

  task(20, 'the pilot and the main wave side by side', async () => {
    const out = await ok(command('batch', 'get', '2', '--with', '1'))
    assert.match(out, /^ +BATCH 2 +BATCH 1\n/)
    assert.match(out, /people +\d of 10 cut over.* 3 cut over/)
    assert.match(out, /cutover .*took .*people a minute: .*passed.* took .*: 3 of 3 passed/)
    assert.match(out, /failures +.*prepare \/ licence: A namesake has the plan.*none/)
    await at('/batches/2')
    await page.getByLabel('Compare with').selectOption('1')
    const table = page.getByRole('table', { name: 'Waves side by side' })
    await table
      .getByText(/3 of 3 passed/)
      .first()
      .waitFor()
    await table.getByText(/A namesake has the plan/).waitFor()
  })

  it('are twenty', () => {
    assert.deepEqual(
      [...done.keys()],
      Array.from({ length: 20 }, (_, at) => at + 1),
    )
  })
})
