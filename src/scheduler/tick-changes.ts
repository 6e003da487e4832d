// Applying a tick's changes: set-based, in chunks of bounded rows and bytes. Every change is checked again under its batch's lock, so slightly old changes do no
// harm and a tick that died halfway simply repeats. What cannot be done now (an unsettled job, an unfinished cleanup) is left for the
// next tick; a failed change does not stop the others.

import { MatoolkitError } from '../base/errors/errors.ts'
import { isTransient } from '../base/errors/transient.ts'
import { safeReasonOf } from '../base/log/redact.ts'
import { chunksOf } from '../base/run/chunks.ts'
import { countText } from '../base/text/count-text.ts'
import type { Json } from '../base/text/json.ts'
import type { Tx } from '../db/connection/db.ts'
import { type NewData, refreshMembers, writeAbsences } from '../db/sources/membership.ts'
import { writeReviews } from '../db/sources/reviews.ts'
import { replaceIssues } from '../db/sources/source-issues.ts'
import { lockBatch } from '../db/state/facts.ts'
import { setHold } from '../domain/decide/finish.ts'
import type {
  FoundRow,
  Issue,
  KnownMember,
  MemberWithRow,
  RowTexts,
} from '../domain/sources/compare.ts'
import { HELD_BY_SOURCE, type TickChanges } from '../domain/sources/scheduled.ts'
import { releaseBatch } from '../engine/orders/batch-actions.ts'
import {
  addMembers,
  createBatch,
  type GivenMember,
  type PagedMembers,
} from '../engine/orders/create.ts'
import {
  type MembersOutcome,
  readmitMembers,
  removeMembers,
} from '../engine/orders/member-actions.ts'
import { moveMembers } from '../engine/orders/moves.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import { fencedEngine } from '../engine/transactions/engine.ts'
import { changeBatch } from '../engine/transactions/locking.ts'

const ACTOR = 'scheduler'
const MEMBERS_PER_CHUNK = 500
const FAILURES_NAMED_MAX = 3

export interface TickWork<Row extends FoundRow> {
  readonly runbookName: string
  readonly tickId: number
  readonly changes: TickChanges<Row>
  readonly texts: RowTexts<Row>
  /** Absences as the changes found them. */
  readonly absences: ReadonlyMap<number, 1 | 2>
  /** Reported issues, up to their limit. */
  readonly issues: readonly Issue[]
}

/** Stores what the next tick compares with, in one transaction. */
export async function recordTick<Row extends FoundRow>(
  engine: Engine,
  { runbookName, tickId, changes, texts, absences, issues }: TickWork<Row>,
): Promise<void> {
  const now = engine.clock.now()
  await engine.db.transaction(async (tx) => {
    await writeAbsences(tx, runbookName, absences, changes.absences, now)
    await writeReviews(tx, runbookName, changes.reviews, texts, now)
    await replaceIssues(tx, runbookName, tickId, issues, now)
  })
}

export interface AppliedChanges {
  batches: number
  joined: number
  moved: number
  rejoined: number
  removed: number
  refreshed: number
  /** Not possible yet; the next tick tries again. */
  postponed: number
  readonly failures: string[]
}

export async function applyChanges<Row extends FoundRow>(
  engine: Engine,
  work: TickWork<Row>,
): Promise<AppliedChanges> {
  const { changes } = work
  const done = nothingDone()
  const step = (what: string, run: () => Promise<void>) => recordFailure(done, what, run)
  // Holds first: nothing more is sent for a batch whose moves a person must decide.
  for (const [batchId, reason] of changes.holds)
    await step(`holding batch ${batchId}`, () => holdForPerson(engine, batchId, reason))
  await refreshAll(engine, work, done, step)
  for (const batch of changes.batches) {
    const time = new Date(batch.timeMs)
    await step(`creating the batch of ${time.toISOString()}`, async () => {
      await createBatch(engine, {
        runbookName: work.runbookName,
        sourceTime: time,
        members: pagedRows(batch.rows, work.texts),
        createdBy: ACTOR,
        ...(batch.hold && { hold: batch.hold }),
      })
      done.batches += 1
      done.joined += batch.rows.length
    })
  }
  await moveAll(engine, work, done, step)
  await joinAll(engine, work, done, step)
  await rejoinAndRemove(engine, changes, done, step)
  for (const batchId of changes.resumes) {
    await step(`resuming batch ${batchId}`, () =>
      releaseBatch(engine, {
        batchId,
        actor: ACTOR,
        reason: 'the source agrees with the batch again',
      }),
    )
  }
  return done
}

type StepOfTick = (what: string, run: () => Promise<void>) => Promise<void>

const nothingDone = (): AppliedChanges => ({
  batches: 0,
  joined: 0,
  moved: 0,
  rejoined: 0,
  removed: 0,
  refreshed: 0,
  postponed: 0,
  failures: [],
})

/** The first failures in a sentence, and how many more there are. */
export const failureText = (failures: readonly string[]): string => {
  const more = failures.length - FAILURES_NAMED_MAX
  const named = failures.slice(0, FAILURES_NAMED_MAX).join('; ')
  return more > 0 ? `${named}; and ${more} more` : named
}

/** Records a failed change and continues the tick. Throws when the database or the tick's lease is lost. */
async function recordFailure(
  done: AppliedChanges,
  what: string,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (error instanceof MatoolkitError && error.code === 'BATCH_OVER') {
      done.postponed += 1
      return
    }
    if (isTransient(error) || isLeaseLost(error)) throw error
    done.failures.push(`${what}: ${safeReasonOf(error)}`)
  }
}

/** Another scheduler runs the tick, or nobody wants it any more. */
const isLeaseLost = (error: unknown): boolean =>
  error instanceof MatoolkitError &&
  (error.code === 'TICK_TAKEN_OVER' || error.code === 'TICK_OUTDATED')

function holdForPerson(engine: Engine, batchId: number, reason: string): Promise<void> {
  return changeBatch(engine, batchId, ACTOR, async ({ draft }) => {
    if (draft.batch.heldAt === null && draft.batch.endedAt === null)
      setHold(draft, HELD_BY_SOURCE, reason)
  })
}

/** In pages of bounded bytes, made one at a time. */
const pagedRows = <Row extends FoundRow>(
  rows: readonly Row[],
  texts: RowTexts<Row>,
): PagedMembers => ({
  length: rows.length,
  pages: async function* () {
    for (const page of chunksOf(rows, MEMBERS_PER_CHUNK, texts.bytesOf))
      yield page.map((row) => new RowMember(row, texts.dataOf))
  },
})

/** Parses its data on access: a wave of 100,000 need not be in memory as objects. */
class RowMember<Row extends FoundRow> implements GivenMember {
  readonly #row: Row
  readonly #dataOf: (row: Row) => string

  constructor(row: Row, dataOf: (row: Row) => string) {
    this.#row = row
    this.#dataOf = dataOf
  }

  get key(): string {
    return this.#row.key
  }

  get hash(): string {
    return this.#row.hash
  }

  get data(): Record<string, Json> {
    return JSON.parse(this.#dataOf(this.#row)) as Record<string, Json>
  }
}

async function refreshAll<Row extends FoundRow>(
  engine: Engine,
  { changes, texts }: TickWork<Row>,
  done: AppliedChanges,
  step: StepOfTick,
): Promise<void> {
  const newData = ({ member, row }: MemberWithRow<Row>): NewData => ({
    memberId: member.id,
    key: row.key,
    data: texts.dataOf(row),
    hash: row.hash,
  })
  const bytesOf = ({ row }: MemberWithRow<Row>) => texts.bytesOf(row)
  for (const [batchId, pairs] of byBatch(changes.refreshes, ({ member }) => member.batchId)) {
    for (const chunk of chunksOf(pairs, MEMBERS_PER_CHUNK, bytesOf)) {
      await step(`refreshing members of batch ${batchId}`, async () => {
        done.refreshed += await changeBatch(engine, batchId, ACTOR, async ({ tx, draft }) => {
          const count = await refreshMembers(tx, batchId, chunk.map(newData))
          if (count > 0)
            draft.note(
              'data_refreshed',
              `the source changed the data of ${countText(count, 'member')}`,
            )
          return count
        })
      })
    }
  }
}

/** In the order of the batches' ids, so that a tick always works in the same order. */
const byBatch = <T>(items: readonly T[], batchOf: (item: T) => number): [number, T[]][] =>
  [...Map.groupBy(items, batchOf)].sort(([a], [b]) => a - b)

async function moveAll<Row extends FoundRow>(
  engine: Engine,
  { changes, runbookName }: TickWork<Row>,
  done: AppliedChanges,
  step: StepOfTick,
): Promise<void> {
  for (const { fromBatchId, timeMs, pairs } of changes.moves) {
    const time = new Date(timeMs)
    const what = `moving members of batch ${fromBatchId} to ${time.toISOString()}`
    for (const chunk of chunksOf(pairs, MEMBERS_PER_CHUNK)) {
      await step(what, async () => {
        const outcome = await moveMembers(engine, {
          batchId: fromBatchId,
          memberIds: chunk.map(({ member }) => member.id),
          to: { runbookName, time },
          actor: ACTOR,
          by: 'source',
          reason: 'the source has it in another group',
        })
        done.moved += tally(outcome, done)
      })
    }
  }
}

async function joinAll<Row extends FoundRow>(
  engine: Engine,
  { changes, texts }: TickWork<Row>,
  done: AppliedChanges,
  step: StepOfTick,
): Promise<void> {
  for (const [batchId, rows] of [...changes.joins].sort(([a], [b]) => a - b)) {
    // Only a person reopens a batch that has ended meanwhile.
    const guarded = fencedEngine(engine, (tx) => requireUnfinished(tx, batchId))
    for (const chunk of chunksOf(rows, MEMBERS_PER_CHUNK, texts.bytesOf)) {
      await step(`adding members to batch ${batchId}`, async () => {
        const members = chunk.map((row) => new RowMember(row, texts.dataOf))
        const { added } = await addMembers(guarded, batchId, members, ACTOR)
        done.joined += added.length
      })
    }
  }
}

/** Under the batch's lock, which the change takes too: the row alone, locked before it, made a deadlock with an approval of moves. */
async function requireUnfinished(tx: Tx, batchId: number): Promise<void> {
  const batch = await lockBatch(tx, batchId)
  if (!batch || batch.endedAt !== null)
    throw new MatoolkitError('BATCH_OVER', { batchId, status: batch?.status ?? 'gone' })
}

async function rejoinAndRemove(
  engine: Engine,
  changes: TickChanges,
  done: AppliedChanges,
  step: StepOfTick,
): Promise<void> {
  const ids = (members: readonly KnownMember[]) => members.map(({ id }) => id)
  const order = { actor: ACTOR }
  for (const [batchId, members] of byBatch(changes.rejoins, (member) => member.batchId)) {
    await step(`readmitting members to batch ${batchId}`, async () => {
      const outcome = await readmitMembers(engine, {
        ...order,
        batchId,
        memberIds: ids(members),
        event: 'rejoin',
        reason: 'it is in the source again',
      })
      done.rejoined += tally(outcome, done)
    })
  }
  for (const [batchId, members] of byBatch(changes.removals, (member) => member.batchId)) {
    await step(`removing members from batch ${batchId}`, async () => {
      const outcome = await removeMembers(engine, {
        ...order,
        batchId,
        memberIds: ids(members),
        by: 'source',
        reason: 'it was missing from the source twice in a row',
      })
      done.removed += tally(outcome, done)
    })
  }
}

function tally(outcome: MembersOutcome, done: AppliedChanges): number {
  done.postponed += outcome.refused.length
  return outcome.done.length
}
