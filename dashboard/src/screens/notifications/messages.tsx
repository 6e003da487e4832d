// Messages to people, newest first: sent, waiting and for what, or failed and why.
import { usePages } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { ChoiceFilter, Filters, useFilter } from '../../ui/filters.tsx'
import { Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance } from '../../ui/time.tsx'

type Message = Answer<'GET /api/notifications'>['notifications'][number]
type Item = Message['items'][number]

/** A message that leaves writes no event: what is shown is read again. */
export const SENT_WITHOUT_EVENT_MS = 5_000
const SHOWN_ITEMS = 3
const STATUSES = [
  ['waiting', 'Waiting'],
  ['sent', 'Sent'],
  ['failed', 'Failed'],
] as const

export function Messages() {
  const [status] = useFilter('status')
  const query = status ? { status: status as Message['status'] } : {}
  const reading = usePages('GET /api/notifications', { query }, { everyMs: SENT_WITHOUT_EVENT_MS })
  return (
    <Section title="Messages">
      <Filters>
        <ChoiceFilter name="status" label="State" options={STATUSES} />
      </Filters>
      <Loaded reading={reading} what="the messages">
        {({ pages }) => {
          const messages = pages.flatMap((page) => page.notifications)
          if (messages.length === 0)
            return <Empty title="No messages">Messages are kept for 30 days.</Empty>
          return (
            <Table
              caption="Messages"
              rows={messages}
              rowKey={({ id }) => id}
              more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
              columns={[
                { name: 'Message', isNumber: true, cell: ({ id }) => id },
                { name: 'Channel', cell: ({ channel }) => channel },
                { name: 'Says', cell: (message) => <Says message={message} /> },
                { name: 'State', cell: (message) => <State message={message} /> },
              ]}
            />
          )
        }}
      </Loaded>
    </Section>
  )
}

const titleOf = ({ state, title }: Item): string =>
  state === 'cleared' ? `Cleared: ${title}` : title

function Says({ message: { items, leftOut } }: { readonly message: Message }) {
  const more = items.length + leftOut - SHOWN_ITEMS
  return (
    <>
      {items.slice(0, SHOWN_ITEMS).map((item) => (
        <div key={`${item.key} ${item.state}`}>
          {titleOf(item)}
          <div className="quiet notification-text">
            <TextWithTimes text={item.text} />.
          </div>
        </div>
      ))}
      {more > 0 && <div className="quiet">and {more} more</div>}
    </>
  )
}

function State({ message }: { readonly message: Message }) {
  const { status, createdAt, dueAt, endedAt, attempts, error } = message
  if (status === 'sent')
    return (
      <>
        <Status status="sent" /> <Distance to={endedAt!} />
      </>
    )
  if (status === 'failed')
    return (
      <>
        <Status status="failed" /> <Distance to={endedAt!} />
        <div className="quiet notification-text">{error}</div>
      </>
    )
  if (attempts === 0)
    return (
      <>
        <Status status="waiting" />
        {dueAt > createdAt && (
          <div className="quiet">
            for the end of quiet hours or a digest, <Distance to={dueAt} />
          </div>
        )}
      </>
    )
  return (
    <>
      <Status status="partial" text="tried again" /> <Distance to={dueAt} />, after {attempts}{' '}
      {attempts === 1 ? 'attempt' : 'attempts'}
      <div className="quiet notification-text">{error}</div>
    </>
  )
}
