// `batch watch`: the screen as text, a log, and a real terminal.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import {
  newsFrom,
  type Summary,
  type WatchFrame,
  watchLine,
  watchLines,
} from '../../../../src/cli/commands/batch/watch-view.ts'
import type { LiveEvent } from '../../../../src/cli/connection/event-stream.ts'
import { DISK_WATCH } from '../../../../src/domain/state/holds.ts'
import { noStates } from '../../../../src/domain/state/person-state.ts'
import { STEP_STATUSES } from '../../../../src/domain/state/transitions.ts'
import { holdBatch, resumeBatch } from '../../../../src/engine/orders/batch-actions.ts'
import { holdScope, resumeScope } from '../../../../src/engine/orders/holds.ts'
import { plain } from '../../../api/contract/fixtures.ts'
import { ROOT, start } from '../../../kit/processes.ts'
import { people } from '../../../stories/world.ts'
import { type Cli, openCli } from '../../against-api.ts'

const noPaint = (_: string, text: string) => text
const NO_STEPS = Object.fromEntries(STEP_STATUSES.map((status) => [status, 0]))

/** What the screen shows of a batch. */
const summaryWith = (more: object = {}): Summary =>
  ({
    batch: {
      id: 7,
      runbookName: 'wave',
      status: 'active',
      batchStartTime: '2030-03-01T20:00:00.000Z',
      held: null,
      members: { ...noStates(), preparing: 8, failed: 2, total: 10 },
    },
    phases: [
      {
        id: 1,
        phaseName: 'prepare',
        offsetMinutes: 1440,
        runbookVersion: 1,
        status: 'dispatched',
        skippedBecause: null,
        dueAt: '2030-02-28T20:00:00.000Z',
        dispatchedAt: '2030-02-28T20:00:00.000Z',
        completedAt: null,
        steps: { ...NO_STEPS, pending: 4, succeeded: 4, failed: 2 },
        members: { total: 10, passed: 4, failed: 2, stopped: 0, removed: 0 },
      },
      {
        id: 2,
        phaseName: 'cutover',
        offsetMinutes: 0,
        runbookVersion: 1,
        status: 'pending',
        skippedBecause: null,
        dueAt: '2030-03-01T20:00:00.000Z',
        dispatchedAt: null,
        completedAt: null,
        steps: NO_STEPS,
        members: { total: 0, passed: 0, failed: 0, stopped: 0, removed: 0 },
      },
    ],
    throughput: { stepsPerMin: 12.4 },
    estimate: {
      endsAt: '2030-03-01T20:30:00.000Z',
      because: '',
      heldSince: null,
      phases: [{ phaseId: 1, endsAt: '2030-02-28T20:07:00.000Z', miss: null }],
    },
    openReviews: { removal: 1, move: 0, join: 0 },
    ...more,
  }) as unknown as Summary

const newsOf = (event: object) => newsFrom(event as LiveEvent)

const failure = newsOf({
  id: 1,
  at: '2030-02-28T20:01:00.000Z',
  entity: 'step',
  event: 'fail',
  stepName: 'create',
  actor: 'orchestrator',
  because: 'no licence left\u001b[2J',
  memberKey: 'ada@x.example',
  phaseName: 'prepare',
})!
const sight = (more: Partial<WatchFrame> = {}): WatchFrame => ({
  summary: summaryWith(),
  news: [failure],
  now: new Date('2030-02-28T20:02:00Z'),
  trouble: null,
  zone: 'UTC',
  ...more,
})

describe('the screen of batch watch', () => {
  it('shows phases, failures, pace and end', () => {
    const text = watchLines(sight(), { width: 101, height: 30 }, noPaint).join('\n')
    assert.match(
      text,
      /^Batch 7 of wave · 10 members +Thu 28 Feb 2030 20:02 UTC {2}T-23h 58m\nactive\n/,
    )
    assert.match(text, /\nprepare +T-1d +█+▓+[▒░]+ {2}~5m left\n/)
    assert.match(text, /\n +4 passed · 2 failed · 4 open · 6 of 10 steps\n/)
    assert.match(text, /\ncutover +T-0 +░+ {2}in 23h 58m\n/)
    assert.match(text, /\n8 preparing, 2 failed · 12 steps\/min · ends in 1d · 1 review open/)
    assert.match(text, /\nThu 20:01 ✗ ada@x\.example: create failed: no licence left\\u001b\[2J$/)
  })

  it('says which phase will be late, on the screen, in a log and as news', () => {
    const text = 'phase prepare will miss T-0 (2030-03-01T20:00:00.000Z) by 40m: 9 steps left'
    const { estimate } = summaryWith()
    const phases = [{ ...estimate.phases[0]!, miss: { text } }]
    const frame = sight({ summary: summaryWith({ estimate: { ...estimate, phases } }) })
    const shown = /phase prepare will miss T-0 \(Fri 01 Mar 20:00 UTC\) by 40m: 9 steps left/
    assert.match(watchLines(frame, { width: 120, height: 30 }, noPaint).join('\n'), shown)
    assert.match(watchLine(frame), shown)
    assert.doesNotMatch(watchLine(sight()), /miss/)
    const event = { id: 1, at: '2030-02-28T20:01:00.000Z', entity: 'phase', event: 'forecast_miss' }
    const of = { actor: 'orchestrator', memberKey: null, phaseName: 'prepare', stepName: null }
    assert.equal(newsOf({ ...event, ...of, because: text })!.text, text)
  })

  it('fits every size that a window may have', () => {
    for (const [width, height] of [
      [40, 5],
      [60, 12],
      [81, 24],
      [300, 80],
    ] as const) {
      const lines = watchLines(sight(), { width, height }, noPaint)
      const widest = Math.max(...lines.map((line) => line.length))
      assert.ok(widest <= Math.max(40, width), `${widest} of ${width}`)
    }
  })

  it('never says that it ends in no time', () => {
    const { estimate } = summaryWith()
    const soon = { ...estimate, endsAt: '2030-02-28T20:02:00.000Z' }
    assert.match(watchLine(sight({ summary: summaryWith({ estimate: soon }) })), /under a minute/)
  })

  it('shows a hold without an estimate, and an unreachable server', () => {
    const heldSince = '2030-02-28T20:01:00.000Z'
    const because = `held since ${heldSince}`
    const held = summaryWith({ estimate: { endsAt: null, because, heldSince, phases: [] } })
    const batch = { ...held.batch, held: { by: 'ops', reason: 'too slow' } }
    const shown = sight({ summary: summaryWith({ ...held, batch }) })
    const text = watchLines(shown, { width: 101, height: 30 }, noPaint).join('\n')
    assert.match(text, /\nprepare +T-1d +█+▓+[▒░]+ {2}held\n/)
    assert.match(text, / · held since 20:01/)
    assert.doesNotMatch(text, /ends in|left\n/)
    assert.equal(watchLines(shown, { width: 80, height: 24 }, noPaint)[1], 'held by ops: too slow')
    assert.match(watchLine(shown), /^held by ops: too slow \| prepare: 4 passed/)
    const away = sight({ trouble: 'It does not answer.' })
    assert.equal(watchLines(away, { width: 80, height: 24 }, noPaint)[1], 'It does not answer.')
  })
})

/** A line of `batch watch --output json`. */
interface Entry {
  readonly event?: { readonly entity: string; readonly event: string; readonly memberKey: string }
  readonly summary?: Summary
}

const settingsOf = ({ api, folder }: Cli) => ({
  MATOOLKIT_HOME: join(folder, 'home'),
  MATOOLKIT_API_URL: api.url,
  MATOOLKIT_TOKEN: api.token,
})

const hasScript = spawnSync('script', ['--version']).status === 0

describe('matoolkit batch watch', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
    await cli.api.world.publish(plain())
    const members = people(5)
    cli.api.world.answer = ({ parameters }) =>
      /user1@/.test(String(parameters.UserPrincipalName))
        ? { fail: 'no licence left' }
        : { ok: true }
    await cli.api.world.batch('plain', members, { startsInMin: 60 })
    await cli.api.world.settle()
  })
  after(() => cli.close())

  it('prints lines without a terminal, until the timeout', async () => {
    const said = await cli.cli('batch', 'watch', '1', '--timeout', '1s')
    assert.equal(said.exit, 8, said.err)
    assert.match(said.out, /^\w{3} \d\d \w{3} \d{4} \d\d:\d\d \S+ active \| 4 preparing, 1 failed/)
    assert.ok(!said.out.includes('\u001b'))
  })

  it('refuses an unknown batch', async () => {
    assert.equal((await cli.cli('batch', 'watch', '99')).exit, 5)
    assert.equal((await cli.cli('batch', 'watch', 'x')).exit, 2)
  })

  const reason = hasScript ? false : 'there is no script(1) to make a terminal with'
  it('draws on a terminal, follows its size and restores it on Ctrl-C', {
    skip: reason,
  }, async () => {
    const resize = join(cli.folder, 'resize')
    spawnSync('mkfifo', [resize])
    // Reading the pipe waits until the test writes to it.
    const narrower = `(cat "${resize}" > /dev/null; stty cols 60 < /dev/tty) &`
    const command = `stty cols 90 rows 24; ${narrower} exec "${process.execPath}" src/main.ts batch watch 1`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: ROOT,
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '1' },
    })
    let screen = ''
    const waiting: { pattern: RegExp; resolve: () => void }[] = []
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text
      for (const { pattern, resolve } of waiting) if (pattern.test(screen)) resolve()
    })
    const ended = new Promise<number | null>((resolve) => terminal.on('close', resolve))
    const seeing = (pattern: RegExp) =>
      Promise.race([new Promise<void>((resolve) => waiting.push({ pattern, resolve })), ended])
    await seeing(/no licence left/)
    writeFileSync(resize, 'now')
    await seeing(/\[2J[\s\S]*create failed/)
    terminal.stdin.write('\u0003')
    const code = await ended
    const [wide = '', narrow = ''] = screen
      .split('\u001b[2J')
      .map((text) => stripVTControlCharacters(text).replaceAll('\r', ''))
    assert.match(wide, /Batch 1 of plain · 5 members/, screen)
    assert.match(wide, /prepare +T-\S+ +█+▓+ {2}completed\n +4 passed · 1 failed/)
    assert.match(wide, /✗ user1@contoso\.example: create failed: no licence left/)
    assert.match(narrow, /You stopped watching; batch 1 continues\./)
    const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
    assert.ok(widest(wide) > 60 && widest(wide) <= 90, `a line has ${widest(wide)} characters`)
    assert.ok(widest(narrow) <= 60, `a line has ${widest(narrow)} characters`)
    assert.ok(screen.lastIndexOf('\u001b[?25h') > screen.lastIndexOf('\u001b[?25l'), 'no cursor')
    assert.equal(code, 130)
  })

  it('status --watch writes the page again when it says something new, until Ctrl-C', async () => {
    const { world } = cli.api
    await using watching = start(['status', '--watch', '--output', 'table'], settingsOf(cli))
    await watching.saying(/^Action needed: 1 person of batch 1 failed\.$/m)
    await holdBatch(world.engine, { batchId: 1, actor: 'op', reason: 'mail loops' })
    await watching.saying(/\nHolds\n.*\nbatch 1 .*mail loops/)
    await resumeBatch(world.engine, { batchId: 1, actor: 'op', reason: 'fixed' })
    await watching.saying(/mail loops[\s\S]*Action needed:/)
    watching.kill('SIGINT')
    const { code, out } = await watching.ended
    assert.equal(code, 130)
    const pages = out.match(/^Action needed/gm)!.length
    assert.equal(pages, 3, 'a page for each state, and none for the same state')
  })

  it('status tells a hold of the program once, with the command that ends it', async () => {
    const { engine } = cli.api.world
    const low = { actor: DISK_WATCH, reason: 'only 90 MB are free' }
    await holdScope(engine, { scope: 'system', target: '', ...low })
    const { out, exit } = await cli.cli('status')
    assert.equal(exit, EXIT.needed)
    assert.match(out, /- The whole system is held by the disk watch .*: only 90 MB are free\n/)
    assert.equal(out.match(/matoolkit resume --all/g)?.length, 1, out)
    assert.doesNotMatch(out, /^Holds$/m)
    const reason = 'there is space'
    await resumeScope(engine, { scope: 'system', target: '', actor: 'op', reason })
  })

  it('prints failures as they happen, until the batch ends', async () => {
    const { world } = cli.api
    cli.api.world.answer = ({ parameters }) =>
      /user2@/.test(String(parameters.UserPrincipalName))
        ? { fail: 'mailbox is locked' }
        : { ok: true }
    const watching = start(['batch', 'watch', '1'], settingsOf(cli))
    const reading = start(['batch', 'watch', '1', '--output', 'json'], settingsOf(cli))
    await watching.saying(/ active \| 4 preparing/)
    await reading.saying(/"status":"active"/)
    await world.pass(3_600)
    const { code, out, err } = await watching.ended
    assert.deepEqual([code, err], [0, ''], out)
    const [followed, hints] = out.split(/(?<= completed \| 3 of 5 done, 2 failed\n)/)
    assert.match(
      followed!,
      /\d\d:\d\d \S+ ✗ user2@contoso\.example: switch failed: mailbox is locked/,
    )
    assert.doesNotMatch(followed!, /no licence left|matoolkit /)
    assert.match(
      hints!,
      /prepare \/ create: no licence left.*\n {2}user1@[\s\S]*batch retry 1 --members user1@/,
    )
    assert.match(
      hints!,
      /cutover \/ switch: mailbox is locked.*\n {2}user2@[\s\S]*batch skip 1 --members user2@/,
    )
    const lines = (await reading.ended).out.trimEnd().split('\n')
    const entries = lines.map((line) => JSON.parse(line) as Entry)
    const failed = entries.find(({ event }) => event?.event === 'fail' && event.entity === 'step')
    assert.equal(failed?.event?.memberKey, 'user2@contoso.example')
    assert.equal(entries.at(-1)?.summary?.batch.status, 'completed')
    const audit = await cli.json<{ total: number }>(
      'audit',
      'list',
      '--action',
      'read listenEvents',
    )
    assert.ok(audit.total >= 1)
  })
})
