// One rehearsal: its progress while it runs, then the report.
import './rehearse.css'
import { useState } from 'react'
import { useLocation, useParams } from 'wouter'
import type { RehearsalReport } from '../../../../src/app/rehearsal/report.ts'
import type { WhatIfReport } from '../../../../src/app/rehearsal/what-if-report.ts'
import { useChange, useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Time } from '../../ui/time.tsx'
import { Comparison } from './comparison.tsx'
import { VerdictMark } from './rehearse.tsx'
import { Report } from './report.tsx'

const EVERY_MS = 1_000

type Rehearsal = Answer<'GET /api/rehearsals/{rehearsalId}'>

export default function RehearsalScreen() {
  const { rehearsalId = '' } = useParams()
  const [isRunning, setRunning] = useState(true)
  const reading = useReading(
    'GET /api/rehearsals/{rehearsalId}',
    { params: { rehearsalId } },
    isRunning ? { everyMs: EVERY_MS } : {},
  )
  if (isRunning && reading.data && reading.data.status !== 'running') setRunning(false)
  return (
    <Loaded reading={reading} what="the rehearsal">
      {(rehearsal) => (
        <Page
          title={titleOf(rehearsal)}
          lead={
            <>
              {rehearsal.verdict ? (
                <VerdictMark verdict={rehearsal.verdict} />
              ) : (
                <Status status={rehearsal.status} />
              )}{' '}
              {rehearsal.members} people, begun <Time at={rehearsal.requestedAt} /> by{' '}
              {rehearsal.requestedBy}
            </>
          }
          actions={<EndButton rehearsal={rehearsal} />}
        >
          <Result rehearsal={rehearsal} />
        </Page>
      )}
    </Loaded>
  )
}

/** A comparison of two rehearsals begins with its answer. */
const isComparison = ({ report }: Rehearsal): boolean =>
  typeof report === 'object' && report !== null && 'headline' in report

function titleOf(rehearsal: Rehearsal): string {
  const { id, runbookName, batchId } = rehearsal
  if (batchId === null) return `Rehearsal ${id} of ${runbookName}`
  const what = isComparison(rehearsal) ? 'What if, for' : `Rehearsal ${id} of`
  return `${what} batch ${batchId} of ${runbookName}`
}

function Result({ rehearsal }: { readonly rehearsal: Rehearsal }) {
  const { status, at, because, report } = rehearsal
  if (isComparison(rehearsal)) return <Comparison report={report as unknown as WhatIfReport} />
  if (report !== null) return <Report report={report as unknown as RehearsalReport} />
  return (
    <Section title={status === 'running' ? 'Under way' : 'No report'}>
      {status === 'running' ? (
        <p role="status">
          {at === null ? (
            'Beginning …'
          ) : (
            <>
              Inside the rehearsal it is <Time at={at} />.
            </>
          )}
        </p>
      ) : (
        <Empty title={`The rehearsal ${status === 'failed' ? 'failed' : 'was cancelled'}`}>
          <p>{because}</p>
        </Empty>
      )}
    </Section>
  )
}

/** Cancels a running one, deletes an ended one. */
function EndButton({ rehearsal: { id, status } }: { readonly rehearsal: Rehearsal }) {
  const { mayChange } = useSession()
  const [, navigate] = useLocation()
  const [isAsked, setAsked] = useState(false)
  const end = useChange('DELETE /api/rehearsals/{rehearsalId}')
  if (!mayChange) return null
  const isRunning = status === 'running'
  const given = { params: { rehearsalId: id } }
  if (isRunning)
    return (
      <Button disabled={end.isPending} onClick={() => end.mutate(given)}>
        Cancel rehearsal
      </Button>
    )
  return (
    <>
      <Button onClick={() => setAsked(true)}>Delete</Button>
      {isAsked && (
        <Decision
          title={`Delete rehearsal ${id}`}
          verb="Delete"
          isDanger
          reason="none"
          isBusy={end.isPending}
          error={end.error}
          onClose={() => setAsked(false)}
          onConfirm={() => end.mutate(given, { onSuccess: () => navigate('/rehearse') })}
        >
          <p>The report is gone afterwards. Nothing else changes.</p>
        </Decision>
      )}
    </>
  )
}
