// When phases and batches end, and with what certainty: one case per rule, and what holds for all.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ForecastFacts, forecastBatch } from '../../../src/domain/forecast/forecast.ts'
import { endOfWork } from '../../../src/domain/forecast/open-time.ts'
import { phaseEnds, slowFactor } from '../../../src/domain/forecast/running.ts'
import { holdsOnBatch } from '../../../src/domain/state/holds.ts'
import type { WindowState } from '../../../src/domain/windows/change-windows.ts'
import { seeded } from '../../kit/seeded.ts'
import {
  ago,
  batch,
  coming,
  EVEN,
  ended,
  facts,
  hold,
  inMin,
  LONG,
  NOW,
  pace,
  phase,
  REHEARSED,
  running,
} from './facts.ts'

const minutes = (at: Date | null) => at && (+at - +NOW) / 60_000
/** `a pace 5 5.5`: name, source, minutes to the p50 and to the p90; without figures the reason. */
const told = (more: Partial<ForecastFacts>): string[] =>
  forecastBatch(facts(more)).phases.map(({ phaseName, source, endsAt, p90, because }) =>
    endsAt === null
      ? `${phaseName}: ${because}`
      : `${phaseName} ${source} ${minutes(endsAt)} ${minutes(p90)}`,
  )

describe('the forecast of phases', () => {
  const rehearsed = REHEARSED
  const big = { ...batch, membersActive: 100 }
  const CASES: readonly (readonly [string, Partial<ForecastFacts>, readonly string[]])[] = [
    ['without phases', {}, []],
    ['that have all ended', { phases: [ended('a', 20, 10, 5)] }, []],
    [
      'at the pace, a tenth later on a slow night',
      { phases: [running('a', 50, 50)] },
      ['a pace 5 5.5'],
    ],
    [
      'later on a slow night the less even the pace was',
      { phases: [running('a', 90, 90)], spread: { ...EVEN, variation: 0.5 } },
      ['a pace 9 12.3262'],
    ],
    [
      'at most three times as long',
      { phases: [running('a', 50, 50)], spread: { variation: 2, samples: 1, sampleMs: 60_000 } },
      ['a pace 5 15'],
    ],
    [
      'with the time of the last members: 20 of 70 steps are in progress for two minutes, three steps each',
      {
        phases: [
          running('a', 50, 200, {
            ...LONG,
            steps: {
              ...phase('a', 'pending').steps,
              pending: 50,
              dispatched: 5,
              polling: 15,
              succeeded: 230,
            },
          }),
        ],
      },
      ['a pace 13 31.7'],
    ],
    [
      'at the pace since the start on a slow night, if that was slower',
      { phases: [running('a', 50, 100, LONG)] },
      ['a pace 5 10'],
    ],
    ['without open steps', { phases: [running('a', 0, 9)] }, ['a no_steps 0 0']],
    [
      'that queue behind the one before',
      { phases: [running('a', 50, 50), running('b', 50, 50), coming('c', 3)] },
      ['a pace 5 5.5', 'b pace 10 11', 'c other_phases 12 15'],
    ],
    [
      'that wait for their time',
      { phases: [running('a', 50, 50), coming('b', 60)] },
      ['a pace 5 5.5', 'b other_phases 62 64'],
    ],
    [
      'with a ramp to come, with its soaks',
      { phases: [running('a', 50, 50), coming('b', 60)], soakMs: () => 60_000 },
      ['a pace 5 5.5', 'b other_phases 63 65'],
    ],
    [
      'in a batch that lost its pace, at that of its earlier phases',
      { phases: [ended('a', 200, 100, 1_000), coming('b', 60)], pace: pace(0) },
      ['b other_phases 62 64'],
    ],
    [
      'of which nobody knows how long they take',
      { phases: [coming('a', 60), coming('b', 90)], pace: pace(0) },
      [
        'a: neither a rehearsal nor an earlier phase of this batch says how long phase a takes',
        'b: phase b comes after a, whose end is unknown',
      ],
    ],
    [
      'without members',
      { phases: [coming('a', 60)], batch: { ...batch, membersActive: 0 } },
      ['a no_steps 60 60'],
    ],
    [
      'of no steps',
      { phases: [coming('a', 60)], stepsPerMember: () => 0, pace: pace(0) },
      ['a no_steps 60 60'],
    ],
    [
      'of a manual batch',
      { phases: [running('a', 50, 50), coming('b', 60)], batch: { ...batch, isManual: true } },
      ['a pace 5 5.5', 'b: phase b waits to be advanced'],
    ],
    [
      'at a gate that has not passed',
      { phases: [coming('b', -5, { gateLookAt: inMin(1) })] },
      ['b: phase b waits at its gate'],
    ],
    [
      'whose gate will be asked at their time',
      { phases: [coming('b', 5, { gate: { approvals: 1, survives: 0, readyPercent: null } })] },
      ['b other_phases 7 9'],
    ],
    [
      'to come, as in the rehearsal',
      { phases: [coming('a', 60)], rehearsed, batch: big },
      ['a rehearsal 90 120'],
    ],
    [
      'of twice the members with half the slots: four times the work, as long a wait',
      {
        phases: [coming('a', 0)],
        rehearsed,
        batch: { ...batch, membersActive: 200 },
        slots: () => 5,
      },
      ['a rehearsal 90 180'],
    ],
    [
      'that have just started, as in the rehearsal, from their start',
      { phases: [running('a', 98, 2, LONG)], rehearsed },
      ['a rehearsal 10 40'],
    ],
    [
      'that have not all their steps, as in the rehearsal for the members of the batch',
      { phases: [running('a', 98, 2, { ...LONG, expandedAt: null })], rehearsed, batch: big },
      ['a rehearsal 10 40'],
    ],
    [
      'that stand still, as in the rehearsal, as long as it is not over',
      { phases: [running('a', 50, 50, LONG)], pace: pace(0), rehearsed },
      ['a rehearsal 10 40'],
    ],
    [
      'that run longer than in the rehearsal',
      { phases: [running('a', 50, 50, { dispatchedAt: ago(40) })], pace: pace(0), rehearsed },
      [
        'a: no step passed lately and 50 steps are open; the rehearsal at 2026-02-20T10:00:00.000Z makes it 30m for 100 members, and it has run longer',
      ],
    ],
    [
      'under way: the pace for the p50, the rehearsal at least for the p90',
      { phases: [running('a', 50, 200, LONG)], rehearsed },
      ['a pace 5 10'],
    ],
    [
      'that nobody has been through: the later of the two',
      {
        phases: [
          running('a', 50, 200, {
            ...LONG,
            members: { ...phase('a', 'pending').members, total: 100 },
          }),
        ],
        rehearsed,
      },
      ['a rehearsal 10 40'],
    ],
    [
      'on a ramp, as in the rehearsal, which had the soaks',
      {
        phases: [
          running('a', 1, 4, {
            ...LONG,
            rampThrough: 9,
            rampPercents: [5, 100],
            rampShare: 0,
            expandedAt: null,
          }),
        ],
        rehearsed,
        batch: big,
      },
      ['a rehearsal 10 40'],
    ],
    [
      'on a ramp without a rehearsal',
      {
        phases: [
          running('a', 1, 4, {
            ...LONG,
            rampThrough: 9,
            rampPercents: [5, 100],
            rampShare: 0,
            expandedAt: null,
          }),
        ],
      },
      ['a: phase a has started for share 1 of 2 (5 %) of its members'],
    ],
    [
      'whose last steps are open: the next one keeps its time',
      { phases: [running('a', 2, 98), coming('b', 60)] },
      ['a: the last 2 steps of phase a are open', 'b other_phases 62 64'],
    ],
    [
      'in a batch with a held member, for everybody else',
      { phases: [running('a', 50, 50)], holds: holdsOnBatch([hold('member', '3')]) },
      ['a pace 5 5.5'],
    ],
  ]
  for (const [about, more, expected] of CASES)
    it(about, () => assert.deepEqual(told(more), expected))

  it('say what they rest on', () => {
    const found = forecastBatch(
      facts({
        phases: [running('a', 1_200, 1_200), coming('b', 60)],
        pace: pace(15),
        rehearsed: { ...REHEARSED, phases: [{ ...REHEARSED.phases[0]!, name: 'b' }] },
      }),
    )
    assert.deepEqual(
      found.phases.map(({ because }) => because),
      [
        '1,200 steps left at 15 steps a minute, the pace of the last 12m',
        'the rehearsal at 2026-02-20T10:00:00.000Z makes it 12m for 10 members',
      ],
    )
    assert.equal(
      found.because,
      '1,220 steps left at 15 steps a minute, later phases as in the rehearsal at 2026-02-20T10:00:00.000Z',
    )
  })

  const open = (until: number | null): WindowState => ({
    isOpen: true,
    until: until === null ? null : inMin(until),
  })
  const shut = (until: number | null): WindowState => ({
    isOpen: false,
    until: until === null ? null : inMin(until),
    timeZone: 'UTC',
    freezeReason: null,
  })
  it('wait while a change window is closed that closes before they end', () => {
    const windowAt = (at: Date) =>
      at < inMin(4) ? open(4) : at < inMin(64) ? shut(64) : open(null)
    assert.deepEqual(told({ phases: [running('a', 50, 50)], windowAt }), ['a pace 65 65.5'])
    assert.deepEqual(told({ phases: [coming('b', 30)], windowAt }), ['b other_phases 66 68'])
    const never = (at: Date) => (at < inMin(4) ? open(4) : shut(null))
    assert.deepEqual(told({ phases: [running('a', 50, 50)], windowAt: never }), [
      'a: the change windows leave no time for 50 steps',
    ])
    assert.equal(
      endOfWork(0, 5, () => shut(0)),
      null,
      'windows that never change end the search',
    )
  })
})

describe('the forecast of a batch', () => {
  const underWay = running('a', 50, 50)
  const CASES: readonly (readonly [string, Partial<ForecastFacts>, Date | null, Date | null])[] = [
    ['that has ended', { batch: { ...batch, endedAt: ago(3) } }, ago(3), ago(3)],
    ['under way', { phases: [underWay] }, inMin(5), inMin(5.5)],
    ['whose phases have ended, with something left to undo', {}, NOW, NOW],
    ['with a phase to come', { phases: [underWay, coming('b', 60)] }, inMin(62), inMin(64)],
    [
      'whose next phase falls due meanwhile',
      { phases: [underWay, coming('b', 1)] },
      inMin(7),
      inMin(9.5),
    ],
    [
      'with a held worker of other batches',
      { phases: [underWay], holds: holdsOnBatch([hold('worker', 'w2')]) },
      inMin(5),
      inMin(5.5),
    ],
    [
      'with the last steps of a phase open and another to come',
      { phases: [running('a', 2, 98), coming('b', 60)] },
      inMin(62),
      inMin(64),
    ],
  ]
  for (const [about, more, p50, p90] of CASES)
    it(about, () => {
      const found = forecastBatch(facts(more))
      assert.deepEqual([found.endsAt, found.p90], [p50, p90])
    })

  const since = '2026-03-02T19:55:00.000Z'
  const NONE: readonly (readonly [string, Partial<ForecastFacts>, string, Date?])[] = [
    ['its own hold', { batch: { ...batch, heldAt: ago(5) } }, `held since ${since}`, ago(5)],
    [
      'a held system',
      { holds: holdsOnBatch([hold('system', '')]) },
      `the whole system is held since ${since}`,
      ago(5),
    ],
    [
      'a held worker of its steps',
      { holds: holdsOnBatch([hold('worker', 'w1')]) },
      `worker w1 is held since ${since}`,
      ago(5),
    ],
    [
      'a held member, whom it does not name',
      { holds: holdsOnBatch([hold('member', '3')]) },
      `1 member is held since ${since}`,
      ago(5),
    ],
    [
      'a closed change window',
      { batch: { ...batch, windowClosedAt: ago(3), windowOpensAt: inMin(60) } },
      'steps wait for the change window, which opens at 2026-03-02T21:00:00.000Z',
    ],
    [
      'a phase of which little is done',
      { phases: [running('a', 98, 2)] },
      'phase a has just started',
    ],
    [
      'the slow end of the last phase',
      { phases: [running('a', 2, 98)] },
      'the last 2 steps of phase a are open',
    ],
    [
      'work that stands still',
      { phases: [running('a', 1, 1)], pace: pace(0) },
      'no step passed lately and 1 step is open',
    ],
  ]
  for (const [about, more, because, heldSince = null] of NONE)
    it(`is not given for ${about}`, () => {
      const { phases, night, ...found } = forecastBatch(facts({ phases: [underWay], ...more }))
      // One held person keeps the batch open, and the others have their night.
      assert.equal((night?.endsAt ?? null) !== null, /held member/.test(about))
      assert.deepEqual(found, { endsAt: null, p90: null, because, heldSince })
      assert.equal(phases.length, 1)
    })

  it('is the same for a running phase, for its batch, and for a view of phases alone', () => {
    const { endsAt, phases } = forecastBatch(facts({ phases: [underWay] }))
    assert.deepEqual(phases[0]!.endsAt, endsAt)
    assert.deepEqual([...phaseEnds([underWay], 10, NOW)], [[1, endsAt]])
  })
})

describe('every forecast', () => {
  it('has its p50 before its p90, nothing before now, and more work never ends earlier', () => {
    const random = seeded(20_260_302)
    for (let round = 0; round < 2_000; round += 1) {
      const spread = {
        variation: random(300) / 100,
        samples: random(16),
        sampleMs: 1 + random(60_000),
      }
      const dice = {
        spread,
        pace: pace(random(500) / 10),
        slots: () => 1 + random(20),
        rehearsed: random(2) === 0 ? null : { ...REHEARSED, slots: 1 + random(20) },
        batch: { ...batch, membersActive: random(300) },
      }
      const slots = dice.slots()
      const steps = [random(1_000), random(1_000), random(1_000)] as const
      const dueIn = random(100) - 20
      const of = (more: number) =>
        forecastBatch(
          facts({
            ...dice,
            slots: () => slots,
            phases: [
              running('a', steps[0] + more, steps[1]),
              running('b', steps[2], steps[1]),
              coming('c', dueIn),
            ],
          }),
        )
      const [less, more] = [of(0), of(1 + random(50))]
      const all = [less, ...less.phases, more, ...more.phases]
      for (const { endsAt, p90 } of all) {
        assert.equal(endsAt === null, p90 === null)
        if (endsAt && p90) assert.ok(NOW <= endsAt && endsAt <= p90, `${round}: ${endsAt} ${p90}`)
      }
      for (const [place, { endsAt, p90, source }] of less.phases.entries()) {
        const other = more.phases[place]!
        // Another source is another figure, and those behind it follow.
        if (source !== other.source) break
        if (!endsAt || !other.endsAt) continue
        assert.ok(
          +other.endsAt >= +endsAt - 1 && +other.p90! >= +p90! - 1,
          `${round}: more work ended earlier`,
        )
      }
    }
  })

  it('is a slow night of 1.1 to 3 times the rest', () => {
    assert.equal(slowFactor(EVEN, 0), 1.1)
    assert.equal(slowFactor(EVEN, 3_600_000), 1.1)
    assert.equal(
      slowFactor({ variation: 0.3, samples: 15, sampleMs: 60_000 }, 900_000).toFixed(3),
      '1.163',
    )
    assert.equal(slowFactor({ variation: 1, samples: 0, sampleMs: 1 }, 900_000), 3)
  })
})
