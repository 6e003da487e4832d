// What the end of a hold starts, before it is confirmed.
import type { Answer } from '../api/routes.ts'
import { Loaded } from './feedback.tsx'
import { countText } from './page.tsx'
import { StartsAtOnce } from './starts-at-once.tsx'
import { Distance } from './time.tsx'

interface ResumePreviewProps {
  readonly reading: {
    readonly data: Answer<'POST /api/resume'> | undefined
    readonly error: Error | null
    readonly refetch: () => unknown
  }
}

export const ResumePreview = ({ reading }: ResumePreviewProps) => (
  <Loaded reading={reading} what="the preview">
    {({ hold, starts, startsAtOnce }) => (
      <>
        <p>
          {hold.heldBy} holds {hold.name} since <Distance to={hold.heldAt} />: {hold.reason}
        </p>
        <p>
          In {amount(starts.batches, 'batch', 'batches')},{' '}
          {amount(starts.phases, 'phase', 'phases')} and {amount(starts.steps, 'step', 'steps')}{' '}
          start at once. What another hold covers stays held.
        </p>
        <StartsAtOnce starts={startsAtOnce} />
      </>
    )}
  </Loaded>
)

const amount = (count: number, one: string, many: string): string =>
  `${countText(count)} ${count === 1 ? one : many}`
