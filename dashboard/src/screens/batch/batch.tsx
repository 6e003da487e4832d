// One batch: where it stands, its phases on a time axis, counts that add up, failures, and every person by every step.
import './batch.css'
import { Link, useParams } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { BatchActions } from './batch-actions.tsx'
import { Compare } from './compare.tsx'
import { Counts } from './counts.tsx'
import { Documents } from './documents.tsx'
import { Events } from './events.tsx'
import { FailureGroups } from './failure-groups.tsx'
import { Gates } from './gates.tsx'
import { Headline } from './headline.tsx'
import { MemberList } from './members/member-list.tsx'
import { Messages } from './messages.tsx'
import { Timeline } from './timeline.tsx'
import { UndoProgress } from './undo-wave.tsx'

export type Summary = Answer<'GET /api/batches/{batchId}/summary'>

export default function BatchScreen() {
  const params = useParams<{ batchId: string }>()
  const batchId = Number(params.batchId)
  useLive({ batchId })
  const reading = useReading('GET /api/batches/{batchId}/summary', { params: { batchId } })
  return (
    <Loaded reading={reading} what={`batch ${params.batchId}`}>
      {(summary) => (
        <Page
          title={`Batch ${summary.batch.id}: ${summary.batch.runbookName}`}
          lead={<Headline summary={summary} />}
          actions={<BatchActions summary={summary} />}
        >
          <UndoProgress batch={summary.batch} />
          <Reviews summary={summary} />
          <Section title="Phases">
            <Timeline summary={summary} />
          </Section>
          <Gates summary={summary} />
          <Section title="Members">
            <Counts batch={summary.batch} />
          </Section>
          <FailureGroups batch={summary.batch} />
          <MemberList batch={summary.batch} phases={summary.phases} />
          <p>
            <Link href={`/actions?batchId=${summary.batch.id}`}>
              Actions on people of this batch
            </Link>
          </p>
          <Messages batchId={summary.batch.id} />
          <Compare summary={summary} />
          <Documents batchId={summary.batch.id} />
          <Events batchId={summary.batch.id} />
        </Page>
      )}
    </Loaded>
  )
}

function Reviews({ summary: { openReviews } }: { readonly summary: Summary }) {
  const count = Object.values(openReviews).reduce((sum, one) => sum + one, 0)
  if (count === 0) return null
  return (
    <p className="note" data-look="warn">
      {count === 1 ? 'One source change waits' : `${count} source changes wait`} for a decision.{' '}
      <Link href="/sources">See the reviews</Link>
    </p>
  )
}
