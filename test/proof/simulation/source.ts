// A data source that changes all the time: rows come, go and return, change wave, case or data, appear twice or without a usable
// time; a whole wave gets a new date. Its journal records every complete answer that a tick has recorded, derived from the rows
// alone; the checks compare the ticks' effects with it.
import type { SourceRow } from '../../../src/domain/sources/source-values.ts'
import { type Chance, makeChance } from './chance.ts'

/** One person's row. */
interface Standing {
  readonly waveMs: number
  readonly isUpper: boolean
  readonly note: number
  readonly spoiled: 'twice' | 'no time' | null
}

/** By folded key: the time of the row, or null if the key is there and unusable. */
export type Answer = ReadonlyMap<string, number | null>

export interface SimulatedSource {
  readonly chance: Chance
  /** The cut-overs of the waves that rows may be in. */
  readonly waves: readonly number[]
  readonly people: Map<number, Standing>
  /** Complete answers that a tick has recorded, in order. */
  readonly answers: Answer[]
  /** Counts by name: changes of the source, decisions of people, effects of ticks. */
  readonly occurred: Map<string, number>
}

const SOURCED_SHARE = 1 / 3
export const PEOPLE = 12
/** Cut-overs in minutes after the start: some soon over, one beyond the end of any seed. */
const WAVE_MINUTES = [35, 90, 600]
const MINUTE_MS = 60_000

/** Whether this seed has a source. Drawn from a separate stream, so seeds without one keep their course. */
export const hasSource = (seed: number): boolean =>
  makeChance(seed).stream('has a source').happens(SOURCED_SHARE)

export function openSource(seed: number, startMs: number): SimulatedSource {
  const chance = makeChance(seed).stream('source')
  const waves = WAVE_MINUTES.map((minutes) => startMs + minutes * MINUTE_MS)
  const people = new Map<number, Standing>()
  for (let person = 1; person <= PEOPLE; person++)
    if (chance.happens(0.7)) people.set(person, rowOf(chance.pick(waves)))
  return { chance, waves, people, answers: [], occurred: new Map() }
}

const rowOf = (waveMs: number): Standing => ({
  waveMs,
  isUpper: false,
  note: 0,
  spoiled: null,
})

/** Makes one change, to a whole wave or a few people, and describes it. */
export function changeSource(source: SimulatedSource): string {
  const { chance, waves, people } = source
  if (chance.happens(0.15)) {
    const from = chance.pick(waves)
    const to = chance.pick(waves)
    for (const [person, one] of people)
      if (one.waveMs === from) people.set(person, { ...one, waveMs: to })
    note(source, 'source: wave re-dated')
    return 'a wave re-dated'
  }
  const changes: string[] = []
  for (let left = chance.between(1, 3); left > 0; left--) {
    const person = chance.between(1, PEOPLE)
    const change = changePerson(source, person, chance.pick(waves))
    note(source, `source: ${change}`)
    changes.push(`${person} ${change}`)
  }
  return changes.join(', ')
}

function changePerson({ chance, people }: SimulatedSource, person: number, waveMs: number): string {
  const one = people.get(person)
  if (!one) {
    people.set(person, rowOf(waveMs))
    return 'row came'
  }
  const how = chance.weighed({ moved: 4, gone: 5, case: 2, data: 2, twice: 1, 'no time': 1 })
  if (how === 'gone') {
    people.delete(person)
    return 'row gone'
  }
  if (how === 'moved') people.set(person, { ...one, waveMs })
  else if (how === 'case') people.set(person, { ...one, isUpper: !one.isUpper })
  else if (how === 'data') people.set(person, { ...one, note: one.note + 1 })
  else people.set(person, { ...one, spoiled: one.spoiled ? null : how })
  return `row changed: ${how}`
}

export function note({ occurred }: SimulatedSource, what: string): void {
  occurred.set(what, (occurred.get(what) ?? 0) + 1)
}

export const keyOf = (person: number): string => `person${person}@contoso.example`

export const rowsNow = ({ people }: SimulatedSource): SourceRow[] =>
  [...people].flatMap(([person, standing]) => rowsOf(person, standing))

function rowsOf(person: number, { waveMs, isUpper, note, spoiled }: Standing): SourceRow[] {
  const key = keyOf(person)
  const row = {
    Upn: isUpper ? key.toUpperCase() : key,
    When: spoiled === 'no time' ? 'soon' : new Date(waveMs).toISOString(),
    Router: 'Do-route',
    Note: note,
  }
  return spoiled === 'twice' ? [row, { ...row, Note: note + 1 }] : [row]
}

export const COLUMNS = ['Upn', 'When', 'Router', 'Note'] as const

/** The expected reading of these rows, computed without the program. */
export function answerOf(rows: readonly SourceRow[]): Answer {
  const answer = new Map<string, number | null>()
  for (const { Upn, When } of rows) {
    const key = String(Upn).toLowerCase()
    const timeMs = Date.parse(String(When))
    answer.set(key, answer.has(key) || Number.isNaN(timeMs) ? null : timeMs)
  }
  return answer
}
