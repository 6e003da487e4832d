// How well the forecast holds: phases are simulated from seeds, with slots, steps that take random times, waits and throttling, and the
// forecasts at a quarter, a half and three quarters are compared with the true end. docs/cut-over-night.md has the figures.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forecastBatch } from '../../../src/domain/forecast/forecast.ts'
import {
  type BatchPace,
  PACE_PARTS,
  PACE_WINDOW_MS,
  spreadOf,
  throughputOf,
} from '../../../src/domain/forecast/pace.ts'
import type { Rehearsed } from '../../../src/domain/forecast/rehearsed.ts'
import { seeded } from '../../kit/seeded.ts'
import { facts, phase } from './facts.ts'

interface PhaseWorld {
  readonly members: number
  readonly slots: number
  /** Seconds in a slot, and seconds of waiting after it, for each step; `at` is the time since the start. */
  readonly steps: readonly ((
    random: () => number,
    at: number,
  ) => readonly [work: number, wait: number])[]
}

/** From half to one and a half times, with a long tail for one in twenty. */
const about = (sec: number, random: () => number): number =>
  sec * (0.5 + random()) * (random() < 0.05 ? 5 : 1)

const WORLDS: Readonly<Record<string, PhaseWorld>> = {
  'steps in slots': {
    members: 400,
    slots: 16,
    steps: [5, 20, 40].map((sec) => (random) => [about(sec, random), 0]),
  },
  'waits for moves': {
    members: 400,
    slots: 8,
    steps: [
      (random) => [about(20, random), 0],
      (random) => [about(5, random), about(1_200, random)],
      (random) => [about(20, random), 0],
    ],
  },
  /** For ten minutes of each half hour. */
  throttled: {
    members: 600,
    slots: 16,
    steps: [10, 30, 60].map((sec) => (random, at) => [
      about(sec, random) * (at % 1_800 < 600 ? 3 : 1),
      0,
    ]),
  },
}

interface Span {
  readonly begin: number
  /** Then it waits. */
  readonly ran: number
  readonly end: number
}

/**
 * When each step began and ended, in seconds, in the order of their ends. As the engine does it: a member keeps its slot until it waits, and a free slot takes the
 * member who has waited longest.
 */
function run({ members, slots, steps }: PhaseWorld, random: () => number): Span[] {
  const queue = Array.from({ length: members }, () => ({ since: 0, step: 0 }))
  const free = Array<number>(slots).fill(0)
  const spans: Span[] = []
  while (queue.length > 0) {
    const slot = free.indexOf(Math.min(...free))
    const isWaiting = queue.findIndex(({ since }) => since <= free[slot]!)
    const [next] = queue.splice(Math.max(0, isWaiting), 1) as [(typeof queue)[0]]
    let at = Math.max(free[slot]!, next.since)
    for (let step = next.step; step < steps.length; step += 1) {
      const [work, wait] = steps[step]!(random, at)
      spans.push({ begin: at, ran: at + work, end: at + work + wait })
      at += work
      if (wait === 0) continue
      const since = at + wait
      if (step + 1 < steps.length)
        queue.splice(queue.findLastIndex((other) => other.since <= since) + 1, 0, {
          since,
          step: step + 1,
        })
      break
    }
    free[slot] = at
  }
  return spans.sort((a, b) => a.end - b.end)
}

const START = Date.UTC(2026, 2, 2)
const PART_MS = PACE_WINDOW_MS / PACE_PARTS

/** The phase when so many of its steps have ended, and the pace that the database would give. */
function stateAt(spans: readonly Span[], share: number, members: number) {
  const sec = spans[Math.floor(spans.length * share)]!.end
  const now = new Date(START + sec * 1_000)
  const parts = Array<number>(PACE_PARTS).fill(0)
  for (const { end } of spans.filter((one) => one.end <= sec)) {
    const part = Math.floor((PACE_WINDOW_MS - (sec - end) * 1_000) / PART_MS)
    if (part >= 0) parts[Math.min(part, PACE_PARTS - 1)]! += 1
  }
  const passed = parts.reduce((sum, count) => sum + count, 0)
  const read: BatchPace = { passed, parts, restartedAt: null, readSince: null }
  const count = (is: (span: Span) => boolean) => spans.filter(is).length
  const one = phase('a', 'dispatched', {
    dispatchedAt: new Date(START),
    expandedAt: new Date(START),
    steps: {
      ...phase('a', 'pending').steps,
      succeeded: count(({ end }) => end <= sec),
      polling: count(({ ran, end }) => ran <= sec && end > sec),
      dispatched: count(({ begin, ran }) => begin <= sec && ran > sec),
      pending: count(({ begin }) => begin > sec),
    },
    members: { total: members, passed: 1, failed: 0, stopped: 0, removed: 0 },
  })
  const pace = throughputOf(read, [one], now)
  return { now, phases: [one], pace, spread: spreadOf(read, [one], now) }
}

/** Where between now (0) and the true end (1) the forecast puts the end. */
function look(
  spans: readonly Span[],
  share: number,
  world: PhaseWorld,
  rehearsed: Rehearsed | null,
) {
  const state = stateAt(spans, share, world.members)
  const { endsAt, p90 } = forecastBatch(
    facts({
      ...state,
      stepsPerMember: () => world.steps.length,
      slots: () => world.slots,
      rehearsed,
    }),
  )
  const rest = START + spans.at(-1)!.end * 1_000 - +state.now
  return { p50: (+endsAt! - +state.now) / rest, p90: (+p90! - +state.now) / rest }
}

/** A rehearsal of a quarter of the members, on another seed. */
function rehearse(world: PhaseWorld): Rehearsed {
  const members = world.members / 4
  const spans = run({ ...world, members }, randomFrom(4_711))
  const work = spans.reduce((sum, { begin, ran }) => sum + ran - begin, 0)
  const phases = [{ name: 'a', members, worstSec: spans.at(-1)!.end, slotSec: work / world.slots }]
  return { at: new Date(START), slots: world.slots, phases }
}

const randomFrom = (seed: number): (() => number) => {
  const random = seeded(seed)
  return () => random(1_000_000) / 1_000_000
}

const RUNS = 60
const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]!

/** The p50 of each run as a share of the true rest (its 10th, 50th and 90th of a hundred), and how often the end came by the p90. */
function judge(world: PhaseWorld, share: number, rehearsed: Rehearsed | null) {
  const looks = Array.from({ length: RUNS }, (_, seed) =>
    look(run(world, randomFrom(seed + 1)), share, world, rehearsed),
  )
  const p50s = looks.map(({ p50 }) => p50)
  const [low, middle, high] = [0.1, 0.5, 0.9].map((part) => quantile(p50s, part)) as [
    number,
    number,
    number,
  ]
  return { low, middle, high, held: looks.filter(({ p90 }) => p90 >= 1).length / RUNS }
}

/** Between these shares of the true rest lies the middle p50, and so often at least the end came by the p90: at a quarter, half, three quarters. */
const EXPECTED: readonly (readonly [
  keyof typeof WORLDS,
  isRehearsed: boolean,
  [number, number, number][],
])[] = [
  [
    'steps in slots',
    false,
    [
      [0.9, 1, 0.95],
      [0.9, 1, 0.95],
      [0.85, 1, 0.95],
    ],
  ],
  [
    'steps in slots',
    true,
    [
      [0.9, 1, 0.95],
      [0.9, 1, 0.95],
      [0.85, 1, 0.95],
    ],
  ],
  [
    'throttled',
    false,
    [
      [0.65, 0.8, 0.6],
      [0.75, 0.9, 0.85],
      [0.85, 1, 0.95],
    ],
  ],
  // The pace cannot see waits that nobody has behind them: without a rehearsal the end comes much later.
  [
    'waits for moves',
    false,
    [
      [0.4, 0.6, 0],
      [0.3, 0.5, 0],
      [0.1, 0.3, 0],
    ],
  ],
  [
    'waits for moves',
    true,
    [
      [0.8, 1, 0.95],
      [0.8, 1, 0.95],
      [0.8, 1, 0.95],
    ],
  ],
]

describe('the forecast at a quarter, a half and three quarters of a phase', () => {
  for (const [name, isRehearsed, bands] of EXPECTED)
    it(`${name}, ${isRehearsed ? 'rehearsed' : 'not rehearsed'}`, (test) => {
      const world = WORLDS[name]!
      const rehearsed = isRehearsed ? rehearse(world) : null
      for (const [at, [least, most, held]] of bands.entries()) {
        const found = judge(world, [0.25, 0.5, 0.75][at]!, rehearsed)
        const text = Object.values(found)
          .map((share) => share.toFixed(2))
          .join(' ')
        test.diagnostic(text)
        assert.ok(found.middle >= least && found.middle <= most && found.held >= held, text)
      }
    })
})
