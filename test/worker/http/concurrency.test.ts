// How many calls may go at once after each answer: literal facts in, literal facts out.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Answered,
  afterAnswer,
  afterRefusal,
  type Concurrency,
  concurrencyOf,
  pressureIn,
  type Refused,
} from '../../../src/worker/http/concurrency.ts'

const MAX = 32
const ANSWER: Answered = { pressure: 'none', isFelt: true, atMs: 0 }
const REFUSAL: Refused = { peak: 8, left: 6, isFirst: true, atMs: 0 }

/** So many answers in a row. */
function answered(known: Concurrency, answers: number, answer: Partial<Answered> = {}) {
  let now = known
  for (let index = 0; index < answers; index++)
    now = afterAnswer(now, { ...ANSWER, ...answer }, MAX)
  return now
}

describe('concurrency', () => {
  it('grows by about one a round while calls wait, up to its maximum', () => {
    assert.equal(Math.floor(answered(concurrencyOf(4), 5).limit), 5)
    assert.equal(Math.floor(answered(concurrencyOf(4), 11).limit), 6)
    assert.equal(answered(concurrencyOf(4), 10_000).limit, MAX)
  })

  it('stays while nobody waits for a place', () => {
    assert.deepEqual(answered(concurrencyOf(4), 100, { isFelt: false }), concurrencyOf(4))
  })

  it('is halved once by one overload, and remembers how many found room', () => {
    const first = afterRefusal(concurrencyOf(20), { ...REFUSAL, peak: 20, left: 19 })
    assert.deepEqual([first.limit, first.borne], [10, 19])
    const last = afterRefusal(first, { ...REFUSAL, left: 16, isFirst: false })
    assert.deepEqual([last.limit, last.borne], [10, 16])
  })

  it('takes half of what was sent when the limit was never reached', () => {
    assert.equal(afterRefusal(concurrencyOf(64), { ...REFUSAL, peak: 6 }).limit, 3)
  })

  it('never falls below one', () => {
    let known = concurrencyOf(2)
    for (let times = 0; times < 5; times++) known = afterRefusal(known, { ...REFUSAL, left: 0 })
    assert.deepEqual([known.limit, known.borne], [1, 1])
    assert.equal(answered(known, 100, { pressure: 'over' }).limit, 1)
  })

  it('grows back to what was borne, and looks for more after two minutes without a refusal', () => {
    const refused = afterRefusal(concurrencyOf(12), { ...REFUSAL, peak: 12, left: 10 })
    const soon = answered(refused, 1_000, { atMs: 119_999 })
    assert.equal(Math.floor(soon.limit), 10)
    assert.equal(Math.floor(answered(soon, 11, { atMs: 120_000 }).limit), 11)
  })

  it('stays near a limit that the service tells of, and falls slowly above it', () => {
    const at8 = concurrencyOf(8)
    assert.equal(answered(at8, 100, { pressure: 'near' }).limit, 8)
    assert.equal(Math.ceil(answered(at8, 8, { pressure: 'over' }).limit), 7)
  })
})

it('reads from the headers how close a limit is, and nothing from others', () => {
  const cases: [header: string, value: string, pressure: string][] = [
    ['x-ms-throttle-limit-percentage', '0.79', 'none'],
    ['x-ms-throttle-limit-percentage', '0.8', 'near'],
    ['x-ms-throttle-limit-percentage', '1.2', 'over'],
    ['rate-limit-remaining', '8', 'none'],
    ['rate-limit-remaining', '7', 'near'],
    ['rate-limit-remaining', '0', 'over'],
    ['rate-limit-remaining', 'soon', 'none'],
    ['x-ms-resource-unit', '2', 'none'],
  ]
  for (const [header, value, pressure] of cases)
    assert.equal(pressureIn(new Headers({ [header]: value }), 8), pressure, `${header}: ${value}`)
})
