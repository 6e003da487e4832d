// The wall: what runs, what needs a person, what comes next.
import { useState } from 'react'
import { useChange, useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const EVERY_MS = 5_000

export default function Wall() {
  // Phases and batches only: the wall names nobody.
  useLive({ entity: 'batch,phase' })
  const reading = useReading('GET /api/now', {}, { everyMs: EVERY_MS })
  return (
    <Loaded reading={reading} what="the wall">
      {({ headline, batches }) => (
        <Page title="Now" lead={headline} actions={<HoldAll />}>
          <Section title="Batches">
            <Table
              caption="Current batches"
              rows={batches}
              rowKey={({ batch }) => batch.id}
              columns={[
                { name: 'Batch', cell: ({ batch }) => batch.id },
                { name: 'Runbook', cell: ({ batch }) => batch.runbookName },
                { name: 'Status', cell: ({ batch }) => <Status status={batch.status} /> },
                { name: 'Ends', cell: ({ endsAt }) => <Time at={endsAt} /> },
              ]}
            />
          </Section>
        </Page>
      )}
    </Loaded>
  )
}

/** The emergency stop. */
function HoldAll() {
  const { mayChange } = useSession()
  const [isAsked, setAsked] = useState(false)
  const hold = useChange('POST /api/hold')
  if (!mayChange) return null
  return (
    <>
      <Button onClick={() => setAsked(true)}>Hold everything</Button>
      {isAsked && (
        <Decision
          title="Hold everything"
          verb="Hold everything"
          isDanger
          reason="optional"
          isBusy={hold.isPending}
          error={hold.error}
          onClose={() => setAsked(false)}
          onConfirm={(reason) =>
            hold.mutate({ body: reason ? { reason } : {} }, { onSuccess: () => setAsked(false) })
          }
        >
          <p>
            No new job starts in any batch. Jobs that workers run now finish. Nothing is undone.
          </p>
        </Decision>
      )}
    </>
  )
}
