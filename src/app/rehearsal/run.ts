// Runs a rehearsal: everything that is due now, then the clock goes to the next moment at which something is due. While jobs run the
// clock moves in small steps, so that results are handled together as they are by a busy orchestrator.
import { findNextMoment, type NextMoment } from '../../db/views/rehearsal.ts'
import { LOOK_INTERVAL_MS } from '../../engine/needs/notifications.ts'
import type { WholeProgram } from './whole-program.ts'

/** Results of so long are handled together. */
const STEP_MS = 2_000
/** A job without a worker is looked at again after so long: its lease or its deadline ends. */
const LOOK_AGAIN_MS = 30_000
/** Nothing is lost in the past of a running batch. */
const LOOK_AGAIN_IN_PAST_MS = 86_400_000
/** Leases are renewed at least so often while jobs run. */
const BUSY_MAX_MS = 20_000
const DAY_MS = 86_400_000
const LONG_PAUSE_MS = DAY_MS / 2
/** No programme lasts longer; a rehearsal that does is stuck. */
const LONGEST_DAYS = 800
/** Ticks after a change: absences count only once they were seen several times. */
const TICKS_AFTER_CHANGE = 4

/** Something that happens at a time, such as a fault. */
export interface RehearsalEvent {
  readonly at: Date
  /** Null: not for the report. */
  readonly what: string | null
  run(system: WholeProgram): Promise<void> | void
  /** The source may have changed: it is queried now, and again until nothing follows. */
  readonly changesSource?: boolean
}

export interface RunOutcome {
  readonly endedAt: Date
  /** Why it ended before every batch had. */
  readonly stuckBecause: string | null
  readonly happened: readonly { readonly at: string; readonly what: string }[]
}

export interface RunOptions {
  readonly events: readonly RehearsalEvent[]
  readonly signal?: AbortSignal
  /** Called now and then with the time of the rehearsal. */
  readonly onProgress?: (now: Date) => void
  /** Called before the clock reaches the start of a phase. */
  readonly beforePhase: (now: Date) => void
}

export async function runRehearsal(
  system: WholeProgram,
  { events, signal, onProgress, beforePhase }: RunOptions,
): Promise<RunOutcome> {
  const { clock } = system
  const latestMs = +clock.now() + LONGEST_DAYS * DAY_MS
  const story = new Story(system, events)
  const ended = async (stuckBecause: string | null): Promise<RunOutcome> => {
    const endedAt = clock.now()
    // The last look is as long after the one before as any other.
    await clock.advance(LOOK_INTERVAL_MS)
    await system.lookForConditions()
    const happened = [...story.happened, ...system.waits].sort((a, b) => (a.at < b.at ? -1 : 1))
    return { endedAt, stuckBecause, happened }
  }
  for (;;) {
    signal?.throwIfAborted()
    onProgress?.(clock.now())
    await story.runDue()
    await system.settle()
    await system.lookForConditions()
    const next = await findNextMoment(system.db, system.isInPast)
    if (next.openBatches === 0 && story.isOver) return ended(null)
    const phaseOrWaitMs = next.at === null ? Number.POSITIVE_INFINITY : +next.at
    const dueMs = Math.min(story.nextMs, phaseOrWaitMs, await system.nextNewsMs())
    const nextMs = await momentAfter(system, next, dueMs)
    if (nextMs === null) return ended('Nothing is due any more, and batches are still open.')
    if (nextMs > latestMs) return ended(`It was not over after ${LONGEST_DAYS} days.`)
    if (next.phaseAt !== null && +next.phaseAt <= nextMs) beforePhase(clock.now())
    await passTo(system, nextMs)
    await waitForNews(system, dueMs)
  }
}

/** An orchestrator that was away for a day tells of no endings meanwhile. Here none was: it looks at both ends of a long pause. */
async function passTo(system: WholeProgram, nextMs: number): Promise<void> {
  const { clock } = system
  const isLong = nextMs - +clock.now() > LONG_PAUSE_MS
  const looks = isLong ? [+clock.now() + LOOK_INTERVAL_MS, nextMs - LOOK_INTERVAL_MS] : []
  for (const ms of looks) {
    await clock.advance(ms - +clock.now())
    await system.settle()
    await system.lookForConditions()
  }
  await clock.advance(nextMs - +clock.now())
}

/** Null when nothing will ever happen. */
async function momentAfter(
  system: WholeProgram,
  { unsent }: NextMoment,
  dueMs: number,
): Promise<number | null> {
  const { clock } = system
  const nowMs = +clock.now()
  const wakeAt = clock.nextWakeAt()
  if (wakeAt !== null) return Math.max(nowMs + STEP_MS, Math.min(+wakeAt, dueMs))
  const isWaiting = unsent > 0 || (await system.hasMessages())
  const lookAgainMs = system.isInPast ? LOOK_AGAIN_IN_PAST_MS : LOOK_AGAIN_MS
  const moment = isWaiting ? Math.min(dueMs, nowMs + lookAgainMs) : dueMs
  return Number.isFinite(moment) ? Math.max(nowMs + 1, moment) : null
}

/** Without a result the orchestrator has nothing to do until something falls due. */
async function waitForNews(system: WholeProgram, dueMs: number): Promise<void> {
  const { clock } = system
  const untilMs = Math.min(dueMs, +clock.now() + BUSY_MAX_MS)
  while (!system.hasResults && clock.nextWakeAt() !== null && +clock.now() + STEP_MS <= untilMs)
    await clock.advance(STEP_MS)
}

/** The events to come, and the queries of the source. A source that cannot change is queried once. */
class Story {
  readonly happened: { at: string; what: string }[] = []
  readonly #system: WholeProgram
  readonly #toCome: RehearsalEvent[]
  #ticksLeft = 1
  #nextTickMs: number

  constructor(system: WholeProgram, events: readonly RehearsalEvent[]) {
    this.#system = system
    this.#toCome = events.toSorted((a, b) => +a.at - +b.at)
    this.#nextTickMs = +system.clock.now()
  }

  async runDue(): Promise<void> {
    const { clock } = this.#system
    while (this.#toCome[0] && this.#toCome[0].at <= clock.now()) {
      const { run, what, changesSource, at } = this.#toCome.shift()!
      await run(this.#system)
      if (what !== null) this.happened.push({ at: at.toISOString(), what })
      if (!changesSource) continue
      this.#ticksLeft = TICKS_AFTER_CHANGE
      this.#nextTickMs = +clock.now()
    }
    if (this.#ticksLeft === 0 || this.#nextTickMs > +clock.now()) return
    await this.#system.tick()
    this.#ticksLeft -= 1
    this.#nextTickMs = +clock.now() + this.#system.tickMs
  }

  get isOver(): boolean {
    return this.#ticksLeft === 0 && this.#toCome.length === 0
  }

  /** Infinity when nothing is left. */
  get nextMs(): number {
    const ticks = this.#ticksLeft > 0 ? [this.#nextTickMs] : []
    return Math.min(...ticks, +(this.#toCome[0]?.at ?? Number.POSITIVE_INFINITY))
  }
}
