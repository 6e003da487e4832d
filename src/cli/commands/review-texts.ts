// What a decision about reviews does, as sentences: the question before it and the result after it.
import type { Answer } from '../../api/client/endpoints.ts'
import { countText } from '../../base/text/count-text.ts'
import type { ReviewVerdict } from './review.ts'

export type DecidedReviews = Answer<'POST /api/reviews'>
/** Reviews of one kind, from one batch, to one time. */
type ReviewGroup = DecidedReviews['groups'][number]

const NAMED = 3

/** `: ada, ben, cleo and 26 more` */
function namesOf({ people, memberKeys }: ReviewGroup): string {
  const named = memberKeys.slice(0, NAMED)
  const more = people - named.length
  return `: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const people = (count: number): string => countText(count, 'person', 'people')

/** The change as an imperative: the question's words and the dry run's. */
function actOf(group: ReviewGroup, { verdict, choice }: ReviewVerdict): string {
  const { kind, batchId, fromTime, toTime, people: count, runbookName } = group
  const batch = batchId === null ? runbookName : `batch ${batchId}`
  const who = people(count)
  const isApproved = verdict === 'approve'
  if (kind === 'removal')
    return `${isApproved ? `Remove ${who} from` : `Keep ${who} in`} ${batch}${namesOf(group)}`
  if (kind === 'join') {
    const late = countText(count, 'latecomer')
    return `${isApproved ? `Admit ${late} to` : `Leave ${late} out of`} ${batch}${namesOf(group)}`
  }
  if (!isApproved) return `Keep ${who} in ${batch} at ${fromTime}, not ${toTime}${namesOf(group)}`
  return choice === 'reschedule'
    ? `Move ${batch} (${who}) from ${fromTime} to ${toTime}`
    : `Move ${who} of ${batch} from ${fromTime} to the wave of ${toTime}${namesOf(group)}`
}

export const questionOf = (group: ReviewGroup, verdict: ReviewVerdict): string =>
  `${actOf(group, verdict)}?`

/** The act with its outcome: `Done for 4 of 5 people.` */
export function resultOf(
  group: ReviewGroup,
  verdict: ReviewVerdict,
  { isDryRun, doneCount, refusedCount }: DecidedReviews,
): string {
  const act = actOf(group, verdict)
  if (refusedCount > 0)
    return `${act}. Done for ${doneCount} of ${people(doneCount + refusedCount)}.`
  return isDryRun ? `Would do: ${act}.` : `Done: ${act}.`
}
