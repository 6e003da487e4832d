// What waits for a person, over all batches: one call for an inbox.
import { z } from 'zod'
import {
  ATTENTION_KINDS,
  type DescribedAttention,
  describeAttention,
} from '../../domain/needs/attention.ts'
import { loadAttention } from '../../engine/needs/attention.ts'
import { read } from '../route.ts'
import { id, nameText, nullableDateTime, nullableText, wholeCount } from '../shapes/shapes.ts'

export const attentionItem = z
  .strictObject({
    kind: z.enum(ATTENTION_KINDS),
    runbookName: nullableText,
    batchId: z.int().nullable(),
    count: wholeCount.meta({ description: 'Reviews, rows or messages; 1 for a failing source.' }),
    membersActive: wholeCount.nullable().meta({ description: 'Active members of the batch.' }),
    since: nullableDateTime,
    fromTime: nullableDateTime.meta({ description: 'Moves: the start of the batch.' }),
    toTime: nullableDateTime.meta({ description: 'Moves: the time the source has now.' }),
    isWholeWave: z.boolean().meta({ description: 'Moves: the wave as a whole has a new time.' }),
    hasOtherTimes: z.boolean().meta({ description: 'Moves: others of the batch go elsewhere.' }),
    topic: nullableText.meta({
      description: 'Dead letters: the topic. A failing channel: its name.',
    }),
    error: nullableText.meta({ description: 'A failing source or channel: its error.' }),
    text: z.string().meta({ description: 'The item as a sentence, times in UTC.' }),
    command: z.string().meta({ description: 'Shows the item in full.' }),
    decide: z.array(z.string()).meta({ description: 'Commands that decide it as a whole.' }),
  })
  .meta({ id: 'AttentionItem' })

export const shownAttention = ({
  decide,
  ...rest
}: DescribedAttention): z.input<typeof attentionItem> => ({ ...rest, decide: [...decide] })

const attentionRoute = read({
  method: 'GET',
  path: '/api/attention',
  operation: 'listAttention',
  tag: 'service',
  summary:
    'List what waits for a person: reviews, failing sources, rows left out, dead letters, failing channels',
  about: 'Dead letters and channels belong to no runbook and show only without a filter.',
  rule: 'reader',
  query: z.strictObject({ runbook: nameText.optional(), batchId: id.optional() }),
  answers: {
    200: z
      .strictObject({
        items: z.array(attentionItem),
        isComplete: z.boolean().meta({ description: 'False when there are more.' }),
      })
      .meta({ id: 'Attention' }),
  },
  handle: async ({ engine, query: { runbook, batchId } }) => {
    const { items, isComplete } = await loadAttention(engine, { runbookName: runbook, batchId })
    return {
      status: 200,
      body: { items: items.map((item) => shownAttention(describeAttention(item))), isComplete },
    }
  },
})

export const ATTENTION_ROUTES = [attentionRoute]
