// Each kind of what waits for a person: its sentence, the command that shows it, the commands that decide it, and what people hear of it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  ATTENTION_KINDS,
  type Attention,
  type AttentionKind,
  describeAttention,
} from '../../../src/domain/needs/attention.ts'
import { attentionCondition, type ConditionKind } from '../../../src/domain/needs/conditions.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const THEN = new Date('2026-03-01T20:00:00Z')

interface Example {
  readonly item: Partial<Attention>
  readonly text: string
  readonly command: string
  readonly decide: readonly string[]
  /** Null: nobody is told tonight. */
  readonly condition: ConditionKind | null
}

const ofBatch = (kind: string) => ({
  command: `matoolkit review list --kind ${kind} --batch 7`,
  decide: [
    `matoolkit review approve --all --kind ${kind} --batch 7`,
    `matoolkit review dismiss --all --kind ${kind} --batch 7`,
  ],
})

const EXAMPLES: Readonly<Record<AttentionKind, Example>> = {
  removals: {
    item: { batchId: 7, count: 2 },
    text: '2 removals of batch 7 need your decision',
    ...ofBatch('removal'),
    condition: 'review_waiting',
  },
  latecomers: {
    item: { batchId: 7 },
    text: '1 latecomer of batch 7 needs your decision',
    ...ofBatch('latecomer'),
    condition: 'review_waiting',
  },
  moves: {
    item: { batchId: 7, count: 3, membersActive: 3, toTime: THEN, isWholeWave: true },
    text: 'All 3 people of batch 7 now have cut-over 2026-03-01T20:00:00Z in the source',
    command: 'matoolkit review list --kind move --batch 7',
    decide: [
      'matoolkit review approve --all --kind move --batch 7 --choice reschedule',
      'matoolkit review approve --all --kind move --batch 7 --choice move',
      'matoolkit review dismiss --all --kind move --batch 7',
    ],
    condition: 'review_waiting',
  },
  source_failing: {
    item: { error: 'Sign-in refused.' },
    text: 'The source of wave fails: Sign-in refused',
    command: 'matoolkit query preview wave',
    decide: [],
    condition: 'source_failing',
  },
  rows_left_out: {
    item: { count: 4 },
    text: 'The last tick of wave left out 4 rows',
    command: 'matoolkit source-issues wave',
    decide: [],
    condition: null,
  },
  dead_letters: {
    item: { runbookName: null, topic: 'worker-jobs' },
    text: '1 message on worker-jobs could not be handled',
    command: 'matoolkit deadletters list',
    decide: [],
    condition: 'dead_letters',
  },
  channel_failing: {
    item: { runbookName: null, topic: 'night', error: 'it answered 500' },
    text: 'Channel night does not take messages: it answered 500',
    command: 'matoolkit notification test night',
    decide: [],
    condition: null,
  },
}

const NOTHING: Omit<Attention, 'kind'> = {
  runbookName: 'wave',
  batchId: null,
  count: 1,
  membersActive: null,
  since: null,
  fromTime: null,
  toTime: null,
  isWholeWave: false,
  hasOtherTimes: false,
  topic: null,
  error: null,
}

describe('what waits for a person', () => {
  for (const kind of ATTENTION_KINDS) {
    const { item, text, command, decide, condition } = EXAMPLES[kind]
    const attention: Attention = { ...NOTHING, ...item, kind }

    it(`has a sentence and commands: ${kind}`, () => {
      const described = describeAttention(attention)
      assert.deepEqual(
        [described.text, described.command, described.decide],
        [text, command, decide],
      )
    })

    it(`is told to people or not: ${kind}`, () => {
      assert.equal(attentionCondition(attention, NOW)?.kind ?? null, condition)
    })

    it(`is found somewhere: ${kind}`, () => {
      const root = join(import.meta.dirname, '../../..')
      const places = ['src/db/views/attention.ts', 'src/engine/needs/attention.ts']
      assert.ok(
        places.some((file) => readFileSync(join(root, file), 'utf8').includes(`'${kind}'`)),
        `nothing loads ${kind}: read it in ${places.join(' or ')}`,
      )
    })
  }
})
