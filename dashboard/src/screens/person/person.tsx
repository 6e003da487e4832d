// One person: what is going on with their mailbox and until when, then the whole story. The first thing on the page is what
// the help desk says on the phone.
import { Link, useParams, useSearchParams } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Loaded } from '../../ui/feedback.tsx'
import { Page } from '../../ui/page.tsx'
import { Changes } from './changes.tsx'
import { Events, Messages, OtherBatches, Values } from './details.tsx'
import { HeadlineCard } from './headline.tsx'
import { PersonActions } from './person-actions.tsx'
import { noReturnIn, type Person as PersonStory } from './story.ts'
import { Coming, Timeline } from './timeline.tsx'
import './person.css'

/** For the role HelpDesk, which may not listen to the stream. */
const EVERY_MS = 10_000

const useReference = () => {
  const [search] = useSearchParams()
  const reference = search.get('reference')
  return reference === null ? {} : { reference }
}

export default function Person() {
  const { batchId = '', memberId = '' } = useParams<{ batchId: string; memberId: string }>()
  const { mayList } = useSession()
  const query = useReference()
  useLive(mayList ? { batchId: Number(batchId), memberId: Number(memberId) } : null)
  const reading = useReading(
    'GET /api/batches/{batchId}/members/{memberId}',
    { params: { batchId, memberId }, query },
    mayList ? {} : { everyMs: EVERY_MS },
  )
  return (
    <Loaded reading={reading} what="the person">
      {(person) => <PersonPage person={person} />}
    </Loaded>
  )
}

function PersonPage({ person }: { readonly person: PersonStory }) {
  const { mayList, mayChange } = useSession()
  const { id: memberId, memberKey, batchId } = person.member
  const effects = useReading(
    'GET /api/batches/{batchId}/members/{memberId}/effects',
    { params: { batchId, memberId }, query: useReference() },
    mayList ? {} : { everyMs: EVERY_MS },
  )
  return (
    <Page
      title={memberKey}
      lead={
        <>
          {mayList ? <Link href={`/batches/${batchId}`}>Batch {batchId}</Link> : `Batch ${batchId}`}
          {' · '}
          <Link href="/people">Find another person</Link>
        </>
      }
    >
      <HeadlineCard person={person} />
      {mayChange && <PersonActions person={person} />}
      <Coming person={person} />
      <Timeline person={person} noReturn={noReturnIn(effects.data?.items)} />
      <Changes person={person} reading={effects} />
      <Messages person={person} />
      <Values title="Data of the source" values={person.member.data} />
      <Values title="Outputs of steps" values={person.member.outputs} />
      <OtherBatches person={person} />
      <Events person={person} />
    </Page>
  )
}
