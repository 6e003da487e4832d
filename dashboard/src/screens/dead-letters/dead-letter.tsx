// One dead letter in full: what it is, why it is dead, whom it concerns, its body.
import { useState } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { LetterDecision, type LetterVerb } from './letter-decision.tsx'
import { kindText, placeIn, prettyBody } from './letter-text.ts'
import './dead-letters.css'

type Letter = Answer<'GET /api/dead-letters/{deadLetterId}'>

export default function DeadLetterPage() {
  const { deadLetterId = '' } = useParams()
  const reading = useReading('GET /api/dead-letters/{deadLetterId}', { params: { deadLetterId } })
  const { data } = reading
  return (
    <Page
      title={data ? `Dead letter: ${kindText(data)}` : 'Dead letter'}
      lead={<Link href="/dead-letters">All dead letters</Link>}
      actions={data && <LetterActions letter={data} />}
    >
      <Loaded reading={reading} what="the dead letter">
        {(letter) => (
          <>
            <Section title="What it is">
              <LetterFacts letter={letter} />
            </Section>
            <Section title="Body">
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area needs the keyboard (WCAG 2.1.1) */}
              <pre className="body" tabIndex={0}>
                {prettyBody(letter.body)}
              </pre>
            </Section>
            <Properties properties={letter.properties} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function LetterActions({ letter }: { readonly letter: Letter }) {
  const { mayChange } = useSession()
  const [verb, setVerb] = useState<LetterVerb | null>(null)
  const [, go] = useLocation()
  if (!mayChange) return null
  return (
    <>
      <Button onClick={() => setVerb('replay')}>Replay …</Button>
      <Button onClick={() => setVerb('discard')}>Discard …</Button>
      {verb && (
        <LetterDecision
          verb={verb}
          letters={[letter]}
          onClose={(isDone) => (isDone ? go('/dead-letters') : setVerb(null))}
        />
      )}
    </>
  )
}

function LetterFacts({ letter }: { readonly letter: Letter }) {
  const { batchId, stepId } = placeIn(letter.body)
  return (
    <Facts
      facts={{
        Why: letter.reason,
        Description: letter.description || '–',
        Batch: batchId === null ? 'not named' : <Link href={`/batches/${batchId}`}>{batchId}</Link>,
        Person: stepId === null ? 'not named' : <PersonOfStep stepId={stepId} />,
        Message: <code>{letter.messageId}</code>,
        Queue: `${letter.topic}, ${letter.subscription}`,
        Deliveries: letter.deliveryCount,
        Sent: <Time at={letter.enqueuedAt} />,
        'Dead since': <Time at={letter.deadLetteredAt} />,
      }}
    />
  )
}

function PersonOfStep({ stepId }: { readonly stepId: number }) {
  const { data, error } = useReading('GET /api/steps/{stepId}', { params: { stepId } })
  if (error) return <>unknown: step {stepId} is gone</>
  if (!data) return <span className="quiet">Loading …</span>
  const { batchId, batchMemberId, memberKey, stepName } = data.step
  return (
    <>
      <Link href={`/batches/${batchId}/members/${batchMemberId}`}>{memberKey}</Link>, step{' '}
      {stepName}
    </>
  )
}

function Properties({ properties }: { readonly properties: Letter['properties'] }) {
  if (Object.keys(properties).length === 0) return null
  return (
    <Section title="Properties">
      <Facts facts={properties} />
    </Section>
  )
}
