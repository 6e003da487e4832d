// The channels: whether they take messages, when they are quiet, and a test of each.
import { useState } from 'react'
import { useChange, useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance, durationText } from '../../ui/time.tsx'
import { SENT_WITHOUT_EVENT_MS } from './messages.tsx'

type Channel = Answer<'GET /api/channels'>['channels'][number]

const TYPES: Readonly<Record<Channel['type'], string>> = {
  teams: 'Teams workflow',
  mail: 'mail',
  webhook: 'webhook',
}
const DAYS_OF_A_WEEK = 7

export function Channels() {
  const { mayChange } = useSession()
  const [tested, setTested] = useState<Channel | null>(null)
  const reading = useReading('GET /api/channels', {}, { everyMs: SENT_WITHOUT_EVENT_MS })
  const action = {
    name: 'Action',
    cell: (channel: Channel) => (
      <Button aria-label={`Send a test to ${channel.name}`} onClick={() => setTested(channel)}>
        Send a test …
      </Button>
    ),
  }
  return (
    <Section title="Channels">
      <Loaded reading={reading} what="the channels">
        {({ channels }) =>
          channels.length === 0 ? (
            <Empty title="No channels">
              Name them in a file, and the file in <code>MATOOLKIT_NOTIFICATIONS_FILE</code>.
            </Empty>
          ) : (
            <Table
              caption="Channels"
              rows={channels}
              rowKey={({ name }) => name}
              columns={[
                { name: 'Channel', cell: (channel) => <Name channel={channel} /> },
                { name: 'State', cell: (channel) => <State channel={channel} /> },
                { name: 'Last sent', cell: ({ lastSentAt }) => <LastSent at={lastSentAt} /> },
                { name: 'Waiting', isNumber: true, cell: ({ waiting }) => waiting },
                { name: 'Quiet', cell: (channel) => quietText(channel) },
                ...(mayChange ? [action] : []),
              ]}
            />
          )
        }
      </Loaded>
      {tested && <SendTest channel={tested} onClose={() => setTested(null)} />}
    </Section>
  )
}

interface ChannelProps {
  readonly channel: Channel
}

const Name = ({ channel: { name, type } }: ChannelProps) => (
  <>
    <strong>{name}</strong>
    <div className="quiet">{TYPES[type]}</div>
  </>
)

const LastSent = ({ at }: { readonly at: string | null }) =>
  at === null ? <span className="quiet">nothing for 30 days</span> : <Distance to={at} />

function State({ channel: { failingSince, error, lastSentAt } }: ChannelProps) {
  if (failingSince === null)
    return lastSentAt === null ? (
      <span className="quiet">not used yet</span>
    ) : (
      <Status status="ok" text="takes messages" />
    )
  return (
    <>
      <Status status="failed" text="failing" /> since <Distance to={failingSince} />
      <div className="quiet notification-text">{error}</div>
    </>
  )
}

function quietText({ quietHours, digestSec, timeZone }: Channel): string {
  const days = quietHours?.days ?? []
  const when = days.length === DAYS_OF_A_WEEK ? '' : ` on ${days.join(', ')}`
  const parts = [
    ...(quietHours ? [`${quietHours.from} to ${quietHours.to}${when}, ${timeZone}`] : []),
    ...(digestSec === null ? [] : [`collected for ${durationText(digestSec * 1_000)}`]),
  ]
  return parts.join('; ') || 'never'
}

function SendTest({ channel: { name, type }, onClose }: ChannelProps & { onClose: () => void }) {
  const test = useChange('POST /api/channels/{channel}/test')
  return (
    <Decision
      title={`Send a test to ${name}`}
      verb="Send"
      reason="none"
      isBusy={test.isPending}
      error={test.error}
      onClose={onClose}
      onConfirm={() => test.mutate({ params: { channel: name } }, { onSuccess: onClose })}
    >
      <p>
        Everyone behind this {TYPES[type]} gets one message at once, also in quiet hours. It says
        that you asked for it and that nothing is wrong.
      </p>
      <p className="quiet">
        It is tried once; what became of it stands among the messages. Messages that wait for
        another attempt follow when it arrives.
      </p>
    </Decision>
  )
}
