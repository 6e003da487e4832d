// Where people and waves stand: the one model that lists, counts, filters, pages, reports and the command line share. A status is what the
// engine needs; a state says what it means for a person. Each person has exactly one: the first rule of `RULES` whose facts are true.
// Rows give the facts in SQL (src/db/views/person-states.ts), put together by the same table of rules.
import type { Phase } from './facts.ts'
import type { BatchStatus, PhaseStatus } from './transitions.ts'

/** In the order of a migration. */
export const PERSON_STATES = [
  'scheduled',
  'preparing',
  'cutting_over',
  'cut_over',
  'done',
  'failed',
  'rolled_back',
  'taken_back',
  'stopped',
  'removed',
] as const
export type PersonState = (typeof PERSON_STATES)[number]

/** What each state says about a person, for the API's description and the documents. */
export const STATE_MEANS: Readonly<Record<PersonState, string>> = {
  scheduled: 'Nothing has begun for the person.',
  preparing: 'A phase before the cut-over has begun, and the cut-over has not.',
  cutting_over: 'In the phase at T-0, the cut-over.',
  cut_over: 'Passed every step of the cut-over phase; a later phase is still to end.',
  done: 'Passed every phase.',
  failed: 'A step failed, and it was not rolled back.',
  rolled_back: 'A step failed, and everything that failed was rolled back.',
  taken_back:
    'Taken back on purpose: what was changed for the person is undone, or is being undone.',
  stopped:
    'The batch was cancelled or failed before the person was cut over, or ended with every phase overdue.',
  removed: 'Left the batch: removed, gone from the source, or moved to another batch.',
}

export const FACTS = [
  'isRemoved',
  'hasFailed',
  /** By an undo that did not fail. */
  'isTakenBack',
  /** Nothing is failed that was not rolled back, and no undo. */
  'isRolledBack',
  /** Passed every phase of the wave, and none is to come. */
  'isThrough',
  /** Passed every step of the cut-over phase. */
  'isCutOver',
  /** The wave was cancelled, has failed, or ended without one phase that began. */
  'isStopped',
  /** Has steps in a phase at the time of the cut-over. */
  'hasBegunCutOver',
  /** A phase before the cut-over has begun. */
  'hasBegun',
] as const
export type Fact = (typeof FACTS)[number]

/** The first rule whose facts are all true gives the state. The last one always holds. */
export const RULES: readonly (readonly [PersonState, readonly Fact[]])[] = [
  ['removed', ['isRemoved']],
  ['taken_back', ['hasFailed', 'isTakenBack']],
  ['rolled_back', ['hasFailed', 'isRolledBack']],
  ['failed', ['hasFailed']],
  ['done', ['isThrough']],
  ['cut_over', ['isCutOver']],
  ['stopped', ['isStopped']],
  ['cutting_over', ['hasBegunCutOver']],
  ['preparing', ['hasBegun']],
  ['scheduled', []],
]

type WavePhase = Pick<
  Phase,
  | 'id'
  | 'name'
  | 'index'
  | 'offsetMinutes'
  | 'runbookVersion'
  | 'status'
  | 'skippedBecause'
  | 'dispatchedAt'
  | 'expandedAt'
  | 'rampThrough'
  | 'members'
>

/** A phase whose steps are not all written: who has some, up to the end of the ramp's share, is in it. */
export interface BegunPhase {
  readonly id: number
  readonly isWritten: boolean
  readonly rampThrough: number | null
}

/** What the states of all people of a wave have in common. */
export interface Wave {
  readonly state: PersonState
  readonly isStopped: boolean
  readonly hasBegun: boolean
  /** A phase has not started, or was cancelled before it did. */
  readonly hasPhaseToCome: boolean
  readonly begun: readonly BegunPhase[]
  /** At the time of the cut-over; the last of them is the cut-over phase, null while that is to come. */
  readonly begunCutOver: readonly BegunPhase[]
  readonly cutOver: BegunPhase | null
}

export function waveOf(status: BatchStatus, all: readonly WavePhase[]): Wave {
  const phases = phasesThatCount(all)
  const atCutOver = phases.filter((phase) => isAtCutOver(phase, phases))
  const begun = phases.filter(wasStarted)
  const last = atCutOver.at(-1)
  return {
    state: waveState(status, phases, atCutOver),
    isStopped:
      status === 'cancelled' ||
      status === 'failed' ||
      (status === 'completed' && begun.length === 0),
    hasBegun: begun.some((phase) => !atCutOver.includes(phase)),
    hasPhaseToCome: phases.some(isToCome),
    begun: begun.map(shownBegun),
    begunCutOver: atCutOver.filter(wasStarted).map(shownBegun),
    cutOver: last && wasStarted(last) ? shownBegun(last) : null,
  }
}

const shownBegun = ({ id, expandedAt, rampThrough }: WavePhase): BegunPhase => ({
  id,
  isWritten: expandedAt !== null,
  rampThrough,
})

const wasStarted = ({ dispatchedAt }: WavePhase): boolean => dispatchedAt !== null
const isToCome = (phase: WavePhase): boolean =>
  phase.status === 'pending' || (phase.status === 'cancelled' && !wasStarted(phase))

/** The newest row of each name, in time order. Superseded rows and phases skipped as overdue belong to nobody's migration. */
function phasesThatCount<P extends WavePhase>(all: readonly P[]): P[] {
  const newest = new Map<string, P>()
  for (const phase of all) {
    if (phase.status === 'superseded') continue
    const name = phase.name.toLowerCase()
    const other = newest.get(name)
    if (!other || other.runbookVersion < phase.runbookVersion) newest.set(name, phase)
  }
  return [...newest.values()]
    .filter(({ skippedBecause }) => skippedBecause !== 'overdue')
    .sort((a, b) => b.offsetMinutes - a.offsetMinutes || a.index - b.index || a.id - b.id)
}

/** T-0; without a phase there the last time before it, or else the first after it. */
function isAtCutOver(
  { offsetMinutes }: { readonly offsetMinutes: number },
  phases: readonly { readonly offsetMinutes: number }[],
): boolean {
  const offsets = phases.map((phase) => phase.offsetMinutes)
  const before = offsets.filter((offset) => offset >= 0)
  return offsetMinutes === (before.length > 0 ? Math.min(...before) : Math.max(...offsets))
}

function waveState(
  status: BatchStatus,
  phases: readonly WavePhase[],
  atCutOver: readonly WavePhase[],
): PersonState {
  switch (status) {
    case 'completed':
      return phases.some(wasStarted) ? 'done' : 'stopped'
    case 'failed':
      return 'failed'
    case 'cancelled':
      return 'stopped'
    case 'detected':
    case 'init_dispatched':
    case 'active': {
      const last = atCutOver.at(-1)
      if (last && wasStarted(last) && PHASE_ENDED[last.status]) return 'cut_over'
      if (atCutOver.some(wasStarted)) return 'cutting_over'
      return phases.some(wasStarted) ? 'preparing' : 'scheduled'
    }
  }
}

const PHASE_ENDED: Readonly<Record<PhaseStatus, boolean>> = {
  pending: false,
  dispatched: false,
  completed: true,
  failed: true,
  skipped: true,
  superseded: true,
  cancelled: true,
}

/** Where every phase was overdue, nothing is to come and nobody is done. */
export const hasRun = ({ hasPhaseToCome, begun }: Wave): boolean =>
  !hasPhaseToCome && begun.length > 0

export type StateCounts = Readonly<Record<PersonState, number>>

export const noStates = (): Record<PersonState, number> =>
  Object.fromEntries(PERSON_STATES.map((state) => [state, 0])) as Record<PersonState, number>

/** Where active people stand; the others are counted by their status. */
export type ActiveCounts = Pick<
  StateCounts,
  'scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'stopped'
>

/**
 * From the counters of the phases, without a look at people. Null when they cannot tell: steps are being written, the wave ended early,
 * people of several phases at once would be counted twice, or somebody joined after the cut-over began and has no steps there yet.
 */
export function activeCounts(
  status: BatchStatus,
  all: readonly WavePhase[],
  { active, removed }: { readonly active: number; readonly removed: number },
): ActiveCounts | null {
  const wave = waveOf(status, all)
  const phases = phasesThatCount(all)
  const openIn = ({ members: of }: WavePhase): number =>
    of.total - of.passed - of.failed - of.stopped - of.removed
  const none = { scheduled: 0, preparing: 0, cutting_over: 0, cut_over: 0, done: 0, stopped: 0 }
  if (active === 0) return none
  if (wave.isStopped && wave.begun.length === 0) return { ...none, stopped: active }
  if (status === 'completed') return { ...none, done: active }
  if (wave.isStopped || wave.begun.some(({ isWritten }) => !isWritten)) return null
  const open = phases.filter(wasStarted).map(openIn)
  const mostOpen = Math.max(0, ...open)
  const isCountedOnce = open.reduce((sum, count) => sum + count, 0) === mostOpen
  if (hasRun(wave) && !isCountedOnce) return null
  const done = hasRun(wave) ? active - mostOpen : 0
  const at = phases.findIndex(({ id }) => id === wave.cutOver?.id)
  const last = hasRun(wave) ? phases.findLastIndex(wasStarted) : at
  if (last >= 0 && !tellsOfAll(phases.slice(last), active - openIn(phases[last]!), removed))
    return null
  const passed = at < 0 ? 0 : active - openIn(phases[at]!)
  const rest = active - passed
  const where =
    wave.begunCutOver.length > 0 ? 'cutting_over' : wave.hasBegun ? 'preparing' : 'scheduled'
  return { ...none, done, cut_over: passed - done, [where]: rest }
}

/**
 * Everybody who is not open in the first of these phases passed it: nobody who passed it failed later or may have left, and nobody joined
 * since. Seeds 16 and 75 showed late joiners as cut over, seeds 37 and 48 as done.
 */
const tellsOfAll = (
  [phase, ...later]: readonly WavePhase[],
  notOpen: number,
  removed: number,
): boolean =>
  notOpen === phase!.members.passed &&
  removed === 0 &&
  later.every(({ members }) => members.failed === 0)

const wordOf = (state: PersonState): string => state.replace('_', ' ')

/** One person's state in words: `cut over`, `moved to batch 9`. */
export const stateWord = (state: PersonState, movedToBatchId: number | null = null): string =>
  state === 'removed' && movedToBatchId !== null
    ? `moved to batch ${movedToBatchId}`
    : wordOf(state)

const UNDER_WAY: readonly PersonState[] = ['scheduled', 'preparing', 'cutting_over', 'cut_over']

/** Something is still to come for the person, and nobody has to act first. */
export const isUnderWay = (state: PersonState): boolean => UNDER_WAY.includes(state)

/**
 * The headline of a wave: `191 of 201 cut over, 10 failed`; before the cut-over `201 preparing`, at the end `191 of 201 done, 10 failed`.
 * Who was removed does not count as one of them. Parts without anybody are left out.
 */
export function statesText(counts: StateCounts): string {
  const { cut_over: cutOver, done, removed } = counts
  const total = PERSON_STATES.reduce((sum, state) => sum + counts[state], 0) - removed
  const others = PERSON_STATES.filter((state) => state !== 'cut_over' && state !== 'done')
  const rest = others
    .filter((state) => counts[state] > 0)
    .map((state) => `${shown(counts[state])} ${wordOf(state)}`)
  const headline = (count: number, word: string) =>
    count === total ? `${shown(count)} ${word}` : `${shown(count)} of ${shown(total)} ${word}`
  const isAtCutOver = cutOver + done + counts.cutting_over > 0
  const isOver =
    done > 0 && PERSON_STATES.every((state) => !isUnderWay(state) || counts[state] === 0)
  const parts = isOver
    ? [headline(done, 'done'), ...rest]
    : isAtCutOver
      ? [
          headline(cutOver + done, 'cut over'),
          ...(done > 0 ? [`${shown(done)} of them done`] : []),
          ...rest,
        ]
      : rest
  return parts.length === 0 ? 'nobody' : parts.join(', ')
}

const shown = (count: number): string => count.toLocaleString('en')
