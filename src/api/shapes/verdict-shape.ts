// Who is needed, as every answer that says so has it: the sentence, the needs, and what is held as planned.
import { z } from 'zod'
import { NEED_KINDS, SEVERITIES } from '../../domain/needs/kinds.ts'
import { batchIdOf, isAccepted, type Need, needPage } from '../../domain/needs/needs.ts'
import type { LoadedVerdict } from '../../engine/needs/find-needs.ts'
import { dateTime, wholeCount } from './shapes.ts'

export const needFields = {
  kind: z.enum(NEED_KINDS),
  severity: z.enum(SEVERITIES).meta({
    description:
      'urgent: harm happens now or within the hour. planned: as someone ordered, and no action is needed.',
  }),
  key: z.string().meta({ description: 'The same for as long as it lasts.' }),
  batchId: z.int().nullable().meta({ description: 'The batch, where it concerns one alone.' }),
  batchIds: z
    .array(z.int())
    .nullable()
    .meta({ description: 'The batches concerned; null: all of these runbooks.' }),
  runbookNames: z
    .array(z.string())
    .nullable()
    .meta({ description: 'The runbooks concerned; null: all.' }),
  workerId: z.string().nullable().meta({ description: 'The worker, where it concerns one.' }),
  title: z.string().meta({ description: 'A few words.' }),
  text: z.string().meta({ description: 'A sentence that names no member; times in UTC.' }),
  count: wholeCount,
  noun: z.string().meta({ description: 'One of what is counted, such as "removal".' }),
  since: dateTime,
  command: z.string().meta({ description: 'Handles it, or shows it in full.' }),
  decide: z.array(z.string()).meta({ description: 'Commands that decide it as a whole.' }),
  decision: z
    .strictObject({
      owner: z.string().nullable(),
      isAccepted: z.boolean(),
      by: z.string(),
      at: dateTime,
      reason: z.string(),
    })
    .nullable()
    .meta({ description: 'Who takes care of it, and whether it is accepted as it is.' }),
  page: z
    .strictObject({ path: z.string(), link: z.string() })
    .meta({ description: 'The page of the dashboard that handles it.' }),
}

export const need = z.strictObject(needFields).meta({ id: 'Need' })

export const shownNeed = ({ mark, decision, dueAt, ...one }: Need): z.input<typeof need> => ({
  ...one,
  decision: decision && {
    owner: decision.owner,
    isAccepted: isAccepted({ decision, mark }),
    by: decision.by,
    at: decision.at,
    reason: decision.reason,
  },
  batchId: batchIdOf(one),
  batchIds: one.batchIds && [...one.batchIds],
  runbookNames: one.runbookNames && [...one.runbookNames],
  decide: [...one.decide],
  page: needPage(one),
})

export const verdictFields = {
  isActionNeeded: z.boolean(),
  severity: z
    .enum(SEVERITIES)
    .nullable()
    .meta({ description: 'Of the first need; null when no action is needed.' }),
  headline: z.string().meta({ description: 'The same sentence wherever it is asked; UTC.' }),
  needs: z.array(need).meta({ description: 'The greatest harm first.' }),
  planned: z.array(need).meta({ description: 'Holds that a person set. They need no action.' }),
  isEveryNeedListed: z.boolean().meta({ description: 'False when there are more.' }),
}

export const shownVerdict = ({ needs, planned, isComplete, ...verdict }: LoadedVerdict) => ({
  ...verdict,
  needs: needs.map(shownNeed),
  planned: planned.map(shownNeed),
  isEveryNeedListed: isComplete,
})
