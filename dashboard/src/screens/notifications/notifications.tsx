// Who hears of what: open conditions with their messages, channels, recent messages, rules.
import { Link } from 'wouter'
import { usePages, useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance } from '../../ui/time.tsx'
import { Channels } from './channels.tsx'
import { Messages } from './messages.tsx'
import './notifications.css'

type Condition = Answer<'GET /api/conditions'>['conditions'][number]
type Rule = Answer<'GET /api/channels'>['rules'][number]

export const kindText = (kind: string): string => kind.replaceAll('_', ' ')

export default function Notifications() {
  useLive({ entity: 'system,runbook,batch,worker' })
  return (
    <Page
      title="Notifications"
      lead="Who is told when something is wrong, and when it is over, by Teams, mail or webhook."
    >
      <Conditions />
      <Channels />
      <Messages />
      <Rules />
    </Page>
  )
}

function Conditions() {
  const reading = usePages('GET /api/conditions', {})
  return (
    <Section title="Open conditions">
      <Loaded reading={reading} what="the conditions">
        {({ pages }) => {
          const conditions = pages.flatMap((page) => page.conditions)
          if (conditions.length === 0)
            return (
              <Empty title="No condition is open">Nothing that a rule names is wrong now.</Empty>
            )
          return (
            <Table
              caption="Open conditions"
              rows={conditions}
              rowKey={({ id }) => id}
              more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
              columns={[
                { name: 'Condition', cell: (condition) => <What condition={condition} /> },
                { name: 'Since', cell: ({ since }) => <Distance to={since} /> },
                { name: 'Told', cell: (condition) => <Told condition={condition} /> },
                { name: 'Next', cell: ({ command }) => <code>{command}</code> },
              ]}
            />
          )
        }}
      </Loaded>
    </Section>
  )
}

function What({ condition: { title, text, kind, batchId } }: { readonly condition: Condition }) {
  return (
    <>
      {batchId === null ? (
        <strong>{title}</strong>
      ) : (
        <Link href={`/batches/${batchId}`}>{title}</Link>
      )}
      <div className="quiet notification-text">
        {kindText(kind)}: <TextWithTimes text={text} />.
      </div>
    </>
  )
}

/** Each channel with its message; without one it is only counted in a digest. */
function Told({ condition: { channels, messages } }: { readonly condition: Condition }) {
  return channels.map((channel) => {
    const message = messages.find((one) => one.channel === channel)
    return (
      <div key={channel}>
        {channel}
        <span className="quiet">
          {message ? `: message ${message.id}, ${message.status}` : ': in a digest'}
        </span>
      </div>
    )
  })
}

function Rules() {
  const reading = useReading('GET /api/channels', {})
  return (
    <Section title="Rules">
      <Loaded reading={reading} what="the rules">
        {({ rules, urgent }) =>
          rules.length === 0 ? (
            <Empty title="No rules">
              No one is notified of anything. Name channels and rules in the file of{' '}
              <code>MATOOLKIT_NOTIFICATIONS_FILE</code>, or <code>notifications</code> in a runbook.
            </Empty>
          ) : (
            <>
              <Table
                caption="Rules"
                rows={rules.map((rule, place) => ({ ...rule, place }))}
                rowKey={({ place }) => place}
                columns={[
                  { name: 'Conditions', cell: ({ conditions }) => conditionsText(conditions) },
                  { name: 'Channels', cell: ({ channels }) => channels.join(', ') },
                  { name: 'Runbooks', cell: ({ runbooks }) => runbooks?.join(', ') ?? 'all' },
                  {
                    name: 'Written in',
                    cell: ({ from }) => (from === 'settings' ? 'the settings' : 'the runbook'),
                  },
                ]}
              />
              <p className="quiet">
                At any hour, and not in a digest: {urgent.map(kindText).join(', ') || 'nothing'}.
              </p>
            </>
          )
        }
      </Loaded>
    </Section>
  )
}

const conditionsText = (conditions: Rule['conditions']): string =>
  conditions.length === 0 ? 'all' : conditions.map(kindText).join(', ')
