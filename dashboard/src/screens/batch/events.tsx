// What happened in the batch and why, newest first. Read only when opened: a busy batch has thousands of events a second.
import { Link } from 'wouter'
import { usePages } from '../../api/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { useFilter } from '../../ui/filters.tsx'
import { Section } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const VIEWS = [
  ['', 'Hide'],
  ['batch', 'Batch and phases'],
  ['all', 'Everything'],
] as const

export function Events({ batchId }: { readonly batchId: number }) {
  const [view, setView] = useFilter('events')
  return (
    <Section
      title="Events"
      actions={VIEWS.map(([value, text]) => (
        <Button key={value} aria-pressed={view === value} onClick={() => setView(value)}>
          {text}
        </Button>
      ))}
    >
      {view === '' ? (
        <p className="quiet">What happened, when and why.</p>
      ) : (
        <EventList batchId={batchId} isAll={view === 'all'} />
      )}
    </Section>
  )
}

function EventList({ batchId, isAll }: { readonly batchId: number; readonly isAll: boolean }) {
  const reading = usePages('GET /api/batches/{batchId}/events', {
    params: { batchId },
    query: isAll ? {} : { entity: 'batch,phase' },
  })
  return (
    <Loaded reading={reading} what="events">
      {({ pages }) =>
        pages[0]!.events.length === 0 ? (
          <Empty title="Nothing has happened yet" />
        ) : (
          <Table
            caption="Events"
            rows={pages.flatMap(({ events }) => events)}
            rowKey={({ id }) => id}
            total={pages[0]!.isTotalExact ? pages[0]!.total : undefined}
            more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
            columns={[
              { name: 'When', cell: ({ at }) => <Time at={at} /> },
              {
                name: 'What',
                cell: ({ entity, phaseName, stepName }) =>
                  [entity, phaseName, stepName].filter((part) => part !== null).join(' / '),
              },
              {
                name: 'Who',
                cell: ({ memberId, memberKey }) =>
                  memberId === null ? (
                    '–'
                  ) : (
                    <Link href={`/batches/${batchId}/members/${memberId}`}>{memberKey}</Link>
                  ),
              },
              { name: 'Event', cell: ({ event }) => event.replaceAll('_', ' ') },
              { name: 'Because', cell: ({ because }) => because },
              { name: 'By', cell: ({ actor }) => actor },
            ]}
          />
        )
      }
    </Loaded>
  )
}
