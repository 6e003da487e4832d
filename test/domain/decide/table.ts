// A decision table: facts in, records out. A row with `refuses` must return that sentence and change nothing.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import { draftOf, type Facts, type Recorded, recorded } from './builders.ts'

export interface Row {
  readonly name: string
  readonly facts: Facts
  /** Returns the refusal, of decisions that can refuse. */
  decide(draft: Draft): unknown
  readonly refuses?: string
  readonly records?: Recorded
  /** What the lines do not show: columns, outputs, flags. */
  also?(draft: Draft): void
}

export function table(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    for (const row of rows) {
      it(row.name, () => {
        const draft = draftOf(row.facts)
        assert.equal(row.decide(draft) ?? null, row.refuses ?? null)
        assert.deepEqual(recorded(draft), row.records ?? {})
        if (row.refuses !== undefined)
          assert.deepEqual(changesOf(draft), changesOf(draftOf(row.facts)))
        row.also?.(draft)
      })
    }
  })
}

/** Everything that would be written. */
const changesOf = (draft: Draft) => ({
  batch: { ...draft.batch, isChanged: draft.isBatchChanged },
  steps: draft.changedSteps,
  members: draft.changedMembers,
  phases: draft.changedPhases,
  plans: draft.changedDefinitions,
})

/** The step of that id, which must exist. */
export function stepOf(draft: Draft, id: number) {
  const step = draft.steps.get(id)
  assert.ok(step, `step ${id} is not among the facts`)
  return step
}
