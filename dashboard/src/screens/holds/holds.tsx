// Every hold in force: what, who, why, since when, and its end.
import { useState } from 'react'
import { Link } from 'wouter'
import { useChange, usePages, usePreview } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { ResumePreview } from '../../ui/resume-preview.tsx'
import { StartsAtOnce } from '../../ui/starts-at-once.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance } from '../../ui/time.tsx'

type Hold = Answer<'GET /api/holds'>['holds'][number]
interface DialogProps {
  readonly hold: Hold
  readonly onClose: () => void
}

export default function Holds() {
  useLive({ entity: 'system,runbook,worker,batch' })
  const { mayChange } = useSession()
  const [asked, setAsked] = useState<Hold | null>(null)
  const reading = usePages('GET /api/holds', {})
  const action = {
    name: 'Action',
    cell: (hold: Hold) => (
      <Button aria-label={`Resume ${hold.name}`} onClick={() => setAsked(hold)}>
        Resume
      </Button>
    ),
  }
  return (
    <Page title="Holds" lead="What waits because a person or a fuse stopped it, the widest first.">
      <Section title="In force">
        <Loaded reading={reading} what="the holds">
          {({ pages }) => {
            const holds = pages.flatMap((page) => page.holds)
            if (holds.length === 0)
              return <Empty title="Nothing is held">Work continues everywhere.</Empty>
            return (
              <Table
                caption="Holds in force"
                rows={holds}
                rowKey={({ scope, target }) => `${scope} ${target}`}
                more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
                total={pages[0]!.total}
                columns={[
                  { name: 'Held', cell: (hold) => <Held hold={hold} /> },
                  { name: 'By', cell: ({ heldBy }) => heldBy },
                  { name: 'Since', cell: ({ heldAt }) => <Distance to={heldAt} /> },
                  { name: 'Why', cell: ({ reason }) => reason },
                  ...(mayChange ? [action] : []),
                ]}
              />
            )
          }}
        </Loaded>
      </Section>
      {asked && <Resume hold={asked} onClose={() => setAsked(null)} />}
    </Page>
  )
}

function Held({ hold: { scope, target, batchId, memberId, name } }: { readonly hold: Hold }) {
  const places: Readonly<Record<Hold['scope'], string | null>> = {
    system: null,
    runbook: `/runbooks/${target}`,
    worker: `/workers/${encodeURIComponent(target)}`,
    batch: `/batches/${target}`,
    member: `/batches/${batchId}/members/${memberId}`,
  }
  const place = places[scope]
  return place === null ? <strong>{name}</strong> : <Link href={place}>{name}</Link>
}

function Resume({ hold, onClose }: DialogProps) {
  return hold.scope === 'batch' ? (
    <ResumeBatch hold={hold} onClose={onClose} />
  ) : (
    <ResumeScope hold={hold} onClose={onClose} />
  )
}

const ENDPOINTS = {
  system: 'POST /api/resume',
  runbook: 'POST /api/runbooks/{name}/resume',
  worker: 'POST /api/workers/{workerId}/resume',
  member: 'POST /api/batches/{batchId}/members/{memberId}/resume',
} as const

function ResumeScope({ hold, onClose }: DialogProps) {
  const { scope, target, batchId, memberId, name } = hold
  // The four differ in their address only; names that an address lacks are left out of it.
  const endpoint = ENDPOINTS[scope as keyof typeof ENDPOINTS] as (typeof ENDPOINTS)['system']
  const params = { name: target, workerId: target, batchId, memberId }
  const given = (body: { reason: string; dryRun?: true }) =>
    ({ params, body }) as { body: typeof body }
  const resume = useChange(endpoint)
  const preview = usePreview(endpoint, given({ reason: 'preview', dryRun: true }))
  return (
    <Decision
      title={`Resume ${name}`}
      verb="Resume"
      reason="required"
      isReady={preview.isSuccess}
      isBusy={resume.isPending}
      error={resume.error}
      onClose={onClose}
      onConfirm={(reason) => resume.mutate(given({ reason }), { onSuccess: onClose })}
    >
      <ResumePreview reading={preview} />
    </Decision>
  )
}

function ResumeBatch({
  hold: { target, name, heldBy, heldAt, reason: why },
  onClose,
}: DialogProps) {
  const params = { batchId: target }
  const resume = useChange('POST /api/batches/{batchId}/resume')
  const preview = usePreview('POST /api/batches/{batchId}/resume', {
    params,
    body: { reason: 'preview', dryRun: true },
  })
  return (
    <Decision
      title={`Resume ${name}`}
      verb="Resume"
      reason="required"
      isReady={preview.isSuccess}
      isBusy={resume.isPending}
      error={resume.error}
      onClose={onClose}
      onConfirm={(reason) => resume.mutate({ params, body: { reason } }, { onSuccess: onClose })}
    >
      <p>
        {heldBy} holds it since <Distance to={heldAt} />: {why}
      </p>
      <Loaded reading={preview} what="the preview">
        {({ startsAtOnce }) => <StartsAtOnce starts={startsAtOnce} />}
      </Loaded>
    </Decision>
  )
}
