// Changes of many members, newest first: who did what, why, and to how many.
import { Link, useSearchParams } from 'wouter'
import { usePages } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { countText, Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { actionWord } from './action-words.ts'

export default function Actions() {
  useLive({ entity: 'batch,phase' })
  const batchId = useSearchParams()[0].get('batchId') ?? undefined
  const reading = usePages('GET /api/actions', { query: { batchId } })
  return (
    <Page title="Actions" lead="Changes of many people, and what became of them.">
      <Section title={batchId === undefined ? 'All batches' : `Batch ${batchId}`}>
        <Loaded reading={reading} what="actions">
          {({ pages }) =>
            pages[0]!.actions.length === 0 ? (
              <Empty title="No action yet">
                <p>Select people in a batch to retry, skip, hold, resume or remove them.</p>
              </Empty>
            ) : (
              <Table
                caption="Actions"
                rows={pages.flatMap(({ actions }) => actions)}
                rowKey={({ id }) => id}
                total={pages[0]!.total}
                more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
                columns={[
                  {
                    name: 'Action',
                    cell: ({ id, action }) => (
                      <Link href={`/actions/${id}`}>
                        {actionWord(action)} ({id})
                      </Link>
                    ),
                  },
                  {
                    name: 'Batch',
                    cell: (one) => <Link href={`/batches/${one.batchId}`}>{one.batchId}</Link>,
                  },
                  { name: 'When', cell: ({ startedAt }) => <Time at={startedAt} /> },
                  { name: 'By', cell: ({ by }) => by },
                  { name: 'Reason', cell: ({ reason }) => reason },
                  { name: 'State', cell: ({ state }) => <Status status={state} /> },
                  { name: 'Selected', isNumber: true, cell: (one) => countText(one.selectedCount) },
                  { name: 'Done', isNumber: true, cell: ({ doneCount }) => countText(doneCount) },
                  { name: 'Refused', isNumber: true, cell: (one) => countText(one.refusedCount) },
                ]}
              />
            )
          }
        </Loaded>
      </Section>
    </Page>
  )
}
