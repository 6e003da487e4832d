import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DemoFrame, demoLines, statusLine } from '../../../src/app/demo/view.ts'
import { durationText, phaseOffsetText } from '../../../src/base/text/duration.ts'
import { fullTimeText } from '../../../src/base/text/zoned-time.ts'
import {
  countsText,
  newsLine,
  newsOf,
  offsetText,
  progressBar,
  stateText,
} from '../../../src/cli/terminal/progress-text.ts'
import {
  EMPTY_TALLY,
  type ProgressEvent,
  tallyEvents,
} from '../../../src/domain/forecast/progress.ts'
import { at, phase, progress, T0 } from './phases.ts'

const plain = (_style: string, text: string) => text
const marked = (style: string, text: string) => (text === '' ? '' : `<${style}>${text}</${style}>`)

const running = phase({
  status: 'dispatched',
  members: { total: 200, passed: 100, failed: 4 },
  steps: { pending: 50, dispatched: 20, polling: 26, succeeded: 300, rolled_back: 4 },
})

describe('words of the demonstration', () => {
  const DURATIONS: [ms: number, said: string][] = [
    [0, '0s'],
    [59_400, '59s'],
    [90_000, '2m'],
    [60 * 60_000, '1h'],
    [61 * 60_000, '1h 1m'],
    [26 * 3_600_000, '1d 2h'],
    [24 * 3_600_000 + 60_000, '1d'],
    [-5, '0s'],
  ]
  for (const [ms, said] of DURATIONS) {
    it(`${ms} ms is ${said}`, () => assert.equal(durationText(ms), said))
  }

  const OFFSETS: [minutes: number, said: string][] = [
    [7_200, 'T-5d'],
    [0, 'T-0'],
    [-1_440, 'T+1d'],
    [-90, 'T+1h30m'],
  ]
  for (const [minutes, said] of OFFSETS) {
    it(`an offset of ${minutes} minutes is ${said}`, () =>
      assert.equal(phaseOffsetText(minutes), said))
  }

  it('says the time, and how far from the cut-over it is', () => {
    assert.equal(fullTimeText(T0, 'UTC'), 'Fri 01 Mar 2030 20:00 UTC')
    assert.equal(offsetText(T0, at(0)), 'T-0')
    assert.equal(offsetText(T0, at(-119)), 'T-1h 59m')
    assert.equal(offsetText(T0, at(14)), 'T+14m')
    assert.equal(offsetText(null, at(14)), '')
  })
})

describe('a phase', () => {
  const PHASES: [what: string, of: Parameters<typeof phase>[0], state: string, counts: string][] = [
    ['that waits', { dueAt: at(90) }, 'in 1h 20m', 'not due yet'],
    ['of a manual batch', { dueAt: null }, 'not started', 'not due yet'],
    ['just started', { status: 'dispatched' }, 'running', 'no members yet'],
    [
      'at its beginning',
      { status: 'dispatched', members: { total: 9 }, steps: { pending: 9 } },
      'running',
      '9 open · 0 of 9 steps',
    ],
    [
      'at its end',
      {
        status: 'dispatched',
        members: { total: 100, passed: 98 },
        steps: { succeeded: 98, polling: 2 },
      },
      '2 to go',
      '98 passed · 2 open · 98 of 100 steps',
    ],
    [
      'that is over',
      {
        status: 'completed',
        members: { total: 9, passed: 5, failed: 2, stopped: 1, removed: 1 },
        steps: { succeeded: 9 },
      },
      'completed',
      '5 passed · 2 failed · 1 stopped · 1 removed',
    ],
  ]
  for (const [what, of, state, counts] of PHASES) {
    it(`${what}: ${state}`, () => {
      assert.deepEqual(
        [stateText(phase(of), at(10), undefined), countsText(phase(of))],
        [state, counts],
      )
    })
  }

  const LEFT: [about: string, ends: Date | undefined, said: string][] = [
    ['with a forecast', at(13), '~3m left'],
    ['that ends soon', at(10), 'under a minute left'],
    ['that ought to have ended', at(9), 'under a minute left'],
    ['without a forecast', undefined, '96 to go'],
  ]
  for (const [about, ends, said] of LEFT)
    it(`${about}: ${said}`, () => assert.equal(stateText(running, at(10), ends), said))

  it('without open steps is about to end', () => {
    const done = phase({ status: 'dispatched', steps: { succeeded: 4 } })
    assert.equal(stateText(done, at(10), at(10)), 'about to end')
  })

  const BARS: [what: string, of: Parameters<typeof phase>[0], bar: string][] = [
    ['nothing', {}, '<dim>░░░░░░░░░░</dim>'],
    [
      'everybody through',
      { members: { total: 7, passed: 7 }, steps: { succeeded: 7 } },
      '<green>██████████</green>',
    ],
    [
      'one of a thousand failed',
      { members: { total: 1_000, passed: 999, failed: 1 }, steps: { succeeded: 999, failed: 1 } },
      '<green>█████████</green><red>▓</red>',
    ],
    [
      'half way with the first of two steps, nobody through',
      { members: { total: 10 }, steps: { succeeded: 10, pending: 10 } },
      '<green>▒▒▒▒▒</green><dim>░░░░░</dim>',
    ],
    [
      'some through, one failed, the others at it',
      { members: { total: 10, passed: 3, failed: 1 }, steps: { succeeded: 10, pending: 10 } },
      '<green>███</green><red>▓</red><green>▒</green><dim>░░░░░</dim>',
    ],
  ]
  for (const [what, of, bar] of BARS) {
    it(`bar: ${what}`, () => assert.equal(progressBar(phase(of), 10, marked), bar))
  }
})

const sight = (news = 20): DemoFrame => ({
  progress: progress(
    [
      phase({ id: 2, name: 'prepare', offsetMinutes: 7_200, status: 'completed' }),
      running,
      phase({
        id: 3,
        name: 'a-very-long-name-of-a-phase',
        offsetMinutes: -1_440,
        dueAt: at(1_440),
      }),
    ],
    {},
    new Map([[running.id, at(18)]]),
  ),
  tally: { jobs: 1_227, retries: 1, polls: 7, rollbacksBegun: 4, rolledBack: 3 },
  now: at(14),
  news: Array.from({ length: news }, (_, index) => ({
    at: at(index),
    mark: '✗',
    style: 'red' as const,
    text: `user${index}: switch-address failed: ${'a long reason '.repeat(12)}`,
  })),
  clockFactor: 60,
  isSkipping: false,
  zone: 'UTC',
})

describe('the screen of the demonstration', () => {
  it('shows head, phases, totals and the newest news', () => {
    const lines = demoLines(sight(2), { width: 81, height: 24 }, plain)
    assert.deepEqual(lines.slice(0, 8), [
      'full-migration · 200 members                    Fri 01 Mar 2030 20:14 UTC  T+14m',
      '60× speed',
      '',
      'prepare     T-5d   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  completed',
      '                   no members yet',
      'cutover     T-0    ████████████████████▓▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░  ~4m left',
      '                   100 passed · 4 failed · 96 open · 304 of 400 steps',
      'a-very-lon… T+1d   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  in 23h 46m',
    ])
    assert.equal(lines[10], '1,234 jobs · 1 retry · 7 polls · 4 rollbacks (3 done)')
    assert.match(lines[12]!, /^Fri 20:00 ✗ user0: switch-address failed: a long reason .*…$/)
  })

  it('says when the clock skips ahead', () => {
    const lines = demoLines({ ...sight(), isSkipping: true }, { width: 80, height: 24 }, plain)
    assert.equal(lines[1], 'nothing is due: skipping ahead')
  })

  for (const [width, height] of [
    [60, 24],
    [80, 24],
    [120, 50],
    [300, 50],
    [80, 15],
    [80, 5],
  ] as const) {
    it(`fits ${width} columns and ${height} rows`, () => {
      const lines = demoLines(sight(), { width, height }, plain)
      assert.ok(Math.max(...lines.map((line) => line.length)) < width)
      if (height > 12) assert.ok(lines.length < height, String(lines.length))
    })
  }

  it('is one line without a terminal', () => {
    assert.equal(
      statusLine(sight()),
      'Fri 01 Mar 2030 20:14 UTC T+14m  cutover: 100 passed · 4 failed · 96 open · 304 of 400 steps, ~4m left | 1,234 jobs · 1 retry · 7 polls · 4 rollbacks (3 done)',
    )
  })
})

const happening = (of: Partial<ProgressEvent>): ProgressEvent => ({
  id: 1,
  at: T0,
  entity: 'step',
  event: 'fail',
  because: 'no licence left (Obstacle)',
  actor: 'root',
  memberKey: 'ada.adler@contoso.example',
  phaseName: null,
  stepName: 'switch-address',
  stepKind: 'phase',
  ...of,
})

describe('news', () => {
  const nobody = { memberKey: null, stepName: null, stepKind: null }
  const NEWS: [of: Partial<ProgressEvent>, line: string | null][] = [
    [{}, 'Fri 20:00 ✗ ada.adler: switch-address failed: no licence left (Obstacle)'],
    [
      { event: 'retry', because: 'retry 1 of 2 in 30 s: busy' },
      'Fri 20:00 ↻ ada.adler: switch-address: retry 1 of 2 in 30 s: busy',
    ],
    [
      { event: 'roll_back', because: 'every step of its rollback succeeded' },
      'Fri 20:00 ↩ ada.adler: switch-address rolled back: every step of its rollback succeeded',
    ],
    [
      { ...nobody, entity: 'phase', event: 'start', phaseName: 'cutover', because: 'due' },
      'Fri 20:00 ▶ phase cutover started: due',
    ],
    [
      { ...nobody, entity: 'batch', event: 'members_added', because: '1 member was added' },
      'Fri 20:00 + 1 member was added',
    ],
    [
      { entity: 'member', event: 'remove', stepName: null, because: 'not in the list' },
      'Fri 20:00 − ada.adler: removed by root: not in the list',
    ],
    [
      { event: 'succeed', stepKind: 'removal', stepName: 'clean-up', because: 'it worked' },
      'Fri 20:00 − ada.adler: clean-up done: it worked',
    ],
    [{ event: 'succeed' }, null],
    [{ event: 'dispatch' }, null],
    [{ because: 'bad\u001b[2J' }, 'Fri 20:00 ✗ ada.adler: switch-address failed: bad\\u001b[2J'],
  ]
  for (const [of, line] of NEWS) {
    it(line ?? `nothing of ${of.event}`, () => {
      const item = newsOf(happening(of))
      assert.equal(item && newsLine(item, 100, plain, 'UTC'), line)
    })
  }

  it('adds up jobs, retries and rollbacks of steps only', () => {
    const events = ['dispatch', 'retry', 'rollback_begun', 'roll_back', 'succeed']
    const all = events.map((event) => happening({ event }))
    const tally = tallyEvents(EMPTY_TALLY, [
      ...all,
      happening({ entity: 'member', event: 'retry' }),
    ])
    assert.deepEqual(tally, { jobs: 1, retries: 1, polls: 0, rollbacksBegun: 1, rolledBack: 1 })
    assert.equal(tallyEvents(tally, all).jobs, 2)
  })
})
