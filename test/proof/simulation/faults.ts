// Faults of the simulated world. Each seed draws the kinds it has and their rates: if everything failed a little, frequent failures
// of one kind would stay untested. Healing turns all of them off.
import type { Chance } from './chance.ts'

/** The highest rate of each kind, per opportunity. */
export const FAULTS = {
  // The database: nothing was done, something was, or the outcome is unknown.
  'connection dropped': 0.03,
  'statement timeout': 0.03,
  deadlock: 0.03,
  'serialization failure': 0.03,
  'commit failed': 0.15,
  'commit unknown': 0.12,
  'statement done but unanswered': 0.03,
  // Processes.
  'crash before commit': 0.1,
  'crash after commit': 0.1,
  'crash after receive': 0.1,
  'crash before ack': 0.15,
  'consumer stalled past its lease': 0.15,
  // Messages.
  'message duplicated': 0.2,
  'message duplicated after the detection window': 0.1,
  'messages reordered': 0.5,
  'ack lost': 0.15,
  // Workers.
  'worker died before the effect': 0.2,
  'worker died after the effect': 0.2,
  'worker died before the ack': 0.2,
  'zombie worker answered late': 0.25,
  'result under a wrong job id': 0.25,
  'result with an odd body': 0.2,
  'result from another worker': 0.15,
  'result sent twice': 0.25,
  'worker stayed silent': 0.2,
  'result came after its deadline': 0.3,
  // Faults that are events: their weight among all events.
  'message delayed': 0.1,
  'message dead-lettered': 0.04,
  'hint out of time': 0.04,
  'clock jumped': 0.02,
  'clock frozen': 0.02,
  burst: 0.03,
} as const

/** Only in seeds with a source: at each tick, or between two of its transactions. */
const SOURCE_FAULTS = {
  'source failed': 0.2,
  'source result cut short': 0.2,
  'source past its time limit': 0.15,
  'source empty': 0.15,
  'source flickered': 0.3,
  'version published while the source was asked': 0.2,
  'automation switched while the source was asked': 0.15,
  'second scheduler while the source was asked': 0.2,
  'scheduler stalled past its lease': 0.08,
  'operator between two transactions of a tick': 0.12,
} as const

const RATES = { ...FAULTS, ...SOURCE_FAULTS }
export type Fault = keyof typeof RATES
export const FAULT_KINDS = Object.keys(RATES) as Fault[]
const kindsOf = (table: Partial<typeof RATES>) => Object.keys(table) as Fault[]

export interface Faults {
  /** True when this kind strikes now; counts it. */
  strikes(kind: Fault): boolean
  /** The rate of this kind; 0 in a healed world. */
  rate(kind: Fault): number
  /** Counts a fault that was not chosen by `strikes`. */
  note(kind: Fault): void
  heal(): void
  readonly isHealed: boolean
  readonly fired: ReadonlyMap<Fault, number>
  /** The kinds of this seed with their rates, for the failure report. */
  readonly drawn: ReadonlyMap<Fault, number>
}

/** The share of all kinds that a seed has. */
const SHARE = 0.45

/**
 * `ofSource` is the stream for kinds that only seeds with a source have. `only` leaves out all other kinds, to find the one that
 * a failure needs.
 */
export function drawFaults(
  chance: Chance,
  ofSource: Chance | null,
  only?: ReadonlySet<Fault>,
): Faults {
  const drawn = new Map<Fault, number>()
  const draw = (kinds: readonly Fault[], from: Chance) => {
    for (const kind of kinds) {
      const isIn = from.happens(SHARE)
      const rate = RATES[kind] * (0.2 + 0.8 * from.fraction())
      if (isIn && (only?.has(kind) ?? true)) drawn.set(kind, rate)
    }
  }
  draw(kindsOf(FAULTS), chance)
  if (ofSource) draw(kindsOf(SOURCE_FAULTS), ofSource)
  const fired = new Map<Fault, number>()
  let isHealed = false
  const rate = (kind: Fault) => (isHealed ? 0 : (drawn.get(kind) ?? 0))
  const note = (kind: Fault) => void fired.set(kind, (fired.get(kind) ?? 0) + 1)
  return {
    rate,
    note,
    strikes: (kind) => {
      const struck = chance.happens(rate(kind))
      if (struck) note(kind)
      return struck
    },
    heal: () => {
      isHealed = true
    },
    get isHealed() {
      return isHealed
    },
    fired,
    drawn,
  }
}
