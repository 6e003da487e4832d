// What the people of the batch were told: how many by which step, in which language, and each message with its state.
import { useState } from 'react'
import { Link } from 'wouter'
import {
  MESSAGE_STATES,
  messageStateText,
} from '../../../../src/domain/member-messages/message-state.ts'
import { usePages, useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { MESSAGE_COLUMNS, type MessageLine, messageKey } from '../../members/member-messages.tsx'
import { Previewed } from '../../members/message-preview.tsx'
import { Button } from '../../ui/button.tsx'
import { CsvButton } from '../../ui/csv-button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { ChoiceFilter, Filters, TextFilter, useFilter } from '../../ui/filters.tsx'
import { countText, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

type Counts = Answer<'GET /api/batches/{batchId}/messages/counts'>

/** The server counts no more often. */
const EVERY_MS = 5_000

const STATES = MESSAGE_STATES.map(
  (state) => [state, messageStateText({ state, correctsTime: null, correctedAt: null })] as const,
)

export function Messages({ batchId }: { readonly batchId: number }) {
  const params = { batchId }
  const query = useMessageFilter()
  const reading = useReading(
    'GET /api/batches/{batchId}/messages/counts',
    { params },
    { everyMs: EVERY_MS, isLive: false },
  )
  if (reading.data && reading.data.steps.length + reading.data.messages.length === 0) return null
  return (
    <Section
      title="Messages"
      actions={
        <CsvButton
          endpoint="GET /api/batches/{batchId}/messages"
          given={{ params, query }}
          name={`batch-${batchId}-messages`}
        />
      }
    >
      <Loaded reading={reading} what="messages">
        {(counts) => (
          <>
            <div className="message-counts">
              <ByStep counts={counts} />
              <ByLanguage counts={counts} />
            </div>
            <MessageFilters counts={counts} />
          </>
        )}
      </Loaded>
      <Lines batchId={batchId} />
    </Section>
  )
}

/** Next to the filters of the people, in the same address. */
function useMessageFilter() {
  const [state] = useFilter('messages')
  const [message] = useFilter('message')
  const [language] = useFilter('language')
  const [search] = useFilter('messagesTo')
  return {
    ...(STATES.some(([one]) => one === state) && {
      state: state as (typeof MESSAGE_STATES)[number],
    }),
    ...(message && { message }),
    ...(language && { language }),
    ...(search && { search }),
    sort: 'id_latest' as const,
  }
}

function MessageFilters({ counts: { steps, messages } }: { readonly counts: Counts }) {
  const names = [...steps, ...messages].map(({ message }) => message)
  return (
    <Filters>
      <ChoiceFilter name="messages" label="Message state" options={STATES} anyText="Sent" />
      <ChoiceFilter name="message" label="Message" options={unique(names)} />
      <ChoiceFilter
        name="language"
        label="Language"
        options={unique(messages.map(({ language }) => language))}
      />
      <TextFilter name="messagesTo" label="Person" hint="Part of the key" />
    </Filters>
  )
}

const unique = (texts: readonly string[]) =>
  [...new Set(texts)].map((text) => [text, text] as const)

const ByStep = ({ counts: { steps } }: { readonly counts: Counts }) => (
  <Table
    caption="Messages by step"
    rows={steps}
    rowKey={({ phaseName, stepName }) => `${phaseName} ${stepName}`}
    columns={[
      { name: 'Step', cell: ({ phaseName, stepName }) => `${phaseName} / ${stepName}` },
      { name: 'Message', cell: ({ message }) => message },
      { name: 'Phase', cell: ({ phaseStatus }) => <Status status={phaseStatus} /> },
      { name: 'Due', cell: ({ dueAt }) => (dueAt === null ? '–' : <Time at={dueAt} />) },
      { name: 'Sent', isNumber: true, cell: ({ sent }) => countText(sent) },
      { name: 'Not sent', isNumber: true, cell: ({ notSent }) => countText(notSent) },
      { name: 'Failed', isNumber: true, cell: ({ failed }) => countText(failed) },
    ]}
  />
)

function ByLanguage({ counts: { messages } }: { readonly counts: Counts }) {
  if (messages.length === 0) return null
  return (
    <Table
      caption="Messages by language"
      rows={messages}
      rowKey={({ message, language }) => `${message} ${language}`}
      columns={[
        { name: 'Message', cell: ({ message }) => message },
        { name: 'Language', cell: ({ language }) => language },
        { name: 'Sent', isNumber: true, cell: ({ sent }) => countText(sent) },
        { name: 'Corrections', isNumber: true, cell: ({ corrections }) => countText(corrections) },
        {
          name: 'Corrections owed',
          isNumber: true,
          cell: ({ correctionsOwed }) => countText(correctionsOwed),
        },
        { name: 'Last', cell: ({ lastAt }) => <Time at={lastAt} /> },
      ]}
    />
  )
}

function Lines({ batchId }: { readonly batchId: number }) {
  const query = useMessageFilter()
  const pages = usePages('GET /api/batches/{batchId}/messages', { params: { batchId }, query })
  const lines = pages.data?.pages.flatMap(({ messages }) => messages) ?? []
  const [chosen, setChosen] = useState<MessageLine | null>(null)
  if (pages.isSuccess && lines.length === 0)
    return <Empty title={isSent(query) ? 'No messages sent yet' : 'No messages match'} />
  return (
    <Loaded reading={pages} what="messages">
      {({ pages: [first] }) => (
        <>
          {chosen && (
            <PreviewFor
              key={messageKey(chosen)}
              batchId={batchId}
              line={chosen}
              onClose={() => setChosen(null)}
            />
          )}
          <Table
            caption="Messages to people, newest first"
            rows={lines}
            rowKey={messageKey}
            more={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
            total={first!.isTotalExact ? first!.total : undefined}
            columns={[
              {
                name: 'Person',
                cell: ({ memberId, memberKey }) => (
                  <Link href={`/batches/${batchId}/members/${memberId}`}>{memberKey}</Link>
                ),
              },
              ...MESSAGE_COLUMNS,
              {
                name: 'Do',
                cell: (line) => <Button onClick={() => setChosen(line)}>Preview</Button>,
              },
            ]}
          />
        </>
      )}
    </Loaded>
  )
}

const isSent = (query: object): boolean => Object.keys(query).length === 1

interface PreviewForProps {
  readonly batchId: number
  readonly line: MessageLine
  readonly onClose: () => void
}
/** As the person would get it now: with the batch's start and the data of today. */
function PreviewFor({ batchId, line, onClose }: PreviewForProps) {
  const [message, setMessage] = useState(line.message)
  const [language, setLanguage] = useState('')
  const reading = useReading('GET /api/batches/{batchId}/members/{memberId}/preview-message', {
    params: { batchId, memberId: line.memberId },
    query: { message, ...(language && { language }) },
  })
  return (
    <section aria-label={`Preview for ${line.memberKey}`}>
      <p>
        What {line.memberKey} would be told now. Nothing is sent.{' '}
        <Button onClick={onClose}>Close</Button>
      </p>
      <Loaded reading={reading} what="the message">
        {(preview) => (
          <Previewed
            preview={preview}
            onMessage={setMessage}
            onLanguage={setLanguage}
            isLanguageChosen={language !== ''}
          />
        )}
      </Loaded>
    </section>
  )
}
