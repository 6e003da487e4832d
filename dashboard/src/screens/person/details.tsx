// What else is known of a person: data, outputs, events, other batches.
import { useState } from 'react'
import { Link } from 'wouter'
import { eventWords } from '../../../../src/domain/state/words.ts'
import { useReading } from '../../api/hooks.ts'
import { MESSAGE_COLUMNS, messageKey } from '../../members/member-messages.tsx'
import { Button } from '../../ui/button.tsx'
import { Section } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { personPage } from './page-address.ts'
import type { Person } from './story.ts'

/** A value as the API gives it: texts as they are, the rest as JSON. */
export function ValueText({ value }: { readonly value: unknown }) {
  if (typeof value === 'string') return <span className="value">{value}</span>
  return <code className="value">{JSON.stringify(value, null, 1)}</code>
}

interface ValuesProps {
  readonly title: string
  readonly values: Readonly<Record<string, unknown>>
}
export function Values({ title, values }: ValuesProps) {
  const entries = Object.entries(values)
  if (entries.length === 0) return null
  return (
    <Section title={title}>
      <dl className="values">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <ValueText value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}

/** What the person was told, and what is to come. */
export function Messages({ person: { messages } }: { readonly person: Person }) {
  if (messages.length === 0) return null
  return (
    <Section title="Messages">
      <div className="wide-table">
        <Table
          caption="Messages to this person"
          rows={messages}
          rowKey={messageKey}
          columns={MESSAGE_COLUMNS}
        />
      </div>
    </Section>
  )
}

/** The same key elsewhere: moved, tried before, or in another runbook. */
export function OtherBatches({ person: { member } }: { readonly person: Person }) {
  const found = useReading('GET /api/members', { query: { text: member.memberKey } })
  const others = (found.data?.members ?? []).filter(
    (one) => found.data?.how === 'key' && one.member.id !== member.id,
  )
  if (others.length === 0) return null
  return (
    <Section title="Also in other batches">
      <Table
        caption="The same person in other batches"
        rows={others}
        rowKey={(one) => one.member.id}
        columns={[
          {
            name: 'Batch',
            cell: (row) => (
              <Link href={personPage(row)}>
                {row.batch.id}, {row.batch.runbookName}
              </Link>
            ),
          },
          {
            name: 'State',
            cell: ({ member: other }) => <Status status={other.state} />,
          },
          { name: 'Where', cell: ({ member: other }) => <Sentence text={other.where} /> },
        ]}
      />
    </Section>
  )
}

const EVENTS_FIRST = 15
/** The API gives no more of them with a person. */
const EVENTS_MAX = 500

export function Events({ person: { events } }: { readonly person: Person }) {
  const [isAll, setAll] = useState(false)
  const shown = isAll ? events : events.slice(0, EVENTS_FIRST)
  return (
    <Section title="Events, newest first">
      <div className="wide-table">
        <Table
          caption="Events of this person, newest first"
          rows={shown}
          rowKey={({ id }) => id}
          columns={[
            { name: 'At', cell: ({ at }) => <Time at={at} /> },
            { name: 'Step', cell: ({ phaseName, stepName }) => placeOf(phaseName, stepName) },
            { name: 'What', cell: ({ entity, event }) => eventWords(entity, event) },
            { name: 'Why', cell: ({ because }) => <Sentence text={because} /> },
            { name: 'By', cell: ({ actor }) => actor },
          ]}
        />
      </div>
      {!isAll && events.length > EVENTS_FIRST && (
        <p className="more">
          <Button onClick={() => setAll(true)}>Show all {events.length}</Button>
        </p>
      )}
      {isAll && events.length === EVENTS_MAX && (
        <p className="quiet">These are the newest {EVENTS_MAX}.</p>
      )}
    </Section>
  )
}

const placeOf = (phaseName: string | null, stepName: string | null): string =>
  [phaseName, stepName].filter((name) => name !== null).join(' / ') || '–'
