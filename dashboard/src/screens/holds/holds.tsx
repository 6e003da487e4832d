// Every hold in force: what, who, why, since when, and its end.
import { useState } from 'react'
import { Link } from 'wouter'
import { usePages } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { type HoldTarget, ResumeDialog } from '../../ui/hold.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance } from '../../ui/time.tsx'

type Hold = Answer<'GET /api/holds'>['holds'][number]
const targetOf = ({ scope, target, batchId }: Hold): HoldTarget => ({
  scope,
  target,
  ...(batchId !== null && { batchId }),
})

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
      {asked && (
        <ResumeDialog
          target={targetOf(asked)}
          title={`Resume ${asked.name}`}
          verb="Resume"
          onClose={() => setAsked(null)}
        />
      )}
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
