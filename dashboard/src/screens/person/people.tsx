// The search: one person over all batches, by any old or new address.

import { useId, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { isUnderWay } from '../../../../src/domain/state/person-state.ts'
import { usePages, useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { CsvButton } from '../../ui/csv-button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { countText, Page, Section } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { personPage } from './page-address.ts'
import './person.css'

type Found = Answer<'GET /api/members'>

export default function People() {
  const [search, setSearch] = useSearchParams()
  const text = search.get('find')?.trim() ?? ''
  const isNotMoved = search.has('notMoved')
  return (
    <Page
      title="People"
      lead="Find one person over all batches: where they are, and what comes next."
    >
      <SearchForm
        key={text}
        text={text}
        onSearch={(find) => setSearch(find === '' ? {} : { find })}
      />
      {text !== '' ? <Results text={text} /> : isNotMoved ? <NotMoved /> : <Hint />}
    </Page>
  )
}

/** Over all waves, each once: `matoolkit member find --not-moved`. */
function NotMoved() {
  const given = { query: { notCutOver: 'true' } } as const
  const reading = usePages('GET /api/members', given)
  return (
    <Loaded reading={reading} what="the people">
      {({ pages }) => (
        <Section
          title={`Still to be cut over: ${pages[0]!.isTotalExact ? '' : 'more than '}${countText(pages[0]!.total)}`}
          actions={<CsvButton endpoint="GET /api/members" given={given} name="not-moved" />}
        >
          <FoundPeople
            members={pages.flatMap(({ members }) => members)}
            more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
          />
        </Section>
      )}
    </Loaded>
  )
}

interface SearchFormProps {
  readonly text: string
  readonly onSearch: (text: string) => void
}
function SearchForm({ text, onSearch }: SearchFormProps) {
  const [typed, setTyped] = useState(text)
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element `search` is too new for some readers
    <form
      role="search"
      aria-label="People"
      className="people-search"
      onSubmit={(event) => {
        event.preventDefault()
        onSearch(typed.trim())
      }}
    >
      <label htmlFor={id}>Old or new address</label>
      <input
        id={id}
        type="search"
        value={typed}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: the search is what people come here for
        autoFocus={text === ''}
        onChange={(event) => setTyped(event.target.value)}
      />
      <Button type="submit" kind="primary">
        Find
      </Button>
    </form>
  )
}

function Hint() {
  const { mayList } = useSession()
  return (
    <Empty title="Whom do you look for?">
      <p>
        {mayList
          ? 'Type an old or new address, a key, or any part of a person’s data.'
          : 'Type the whole address of the person, old or new. Your role finds one person at a time, and no lists.'}
      </p>
      {mayList && (
        <p>
          <Link href="/people?notMoved">Everyone who has still to be cut over</Link>
        </p>
      )}
    </Empty>
  )
}

function Results({ text }: { readonly text: string }) {
  const { mayList } = useSession()
  const reading = useReading('GET /api/members', { query: { text } })
  return (
    <Loaded reading={reading} what="the people">
      {(found) =>
        found.members.length === 0 ? (
          <Empty title={`No one has “${text}”`}>
            <p>
              {mayList
                ? 'No batch has it as a key, as an address or in its data. Check the spelling, or try a part of it.'
                : 'Your role finds a person by the whole address only. Ask for the exact old or new address and check the spelling.'}
            </p>
          </Empty>
        ) : (
          <Section title={titleOf(found, text)}>
            <FoundPeople members={found.members} />
            {!found.isComplete && (
              <p className="quiet">There are more. Use a longer text to see them.</p>
            )}
          </Section>
        )
      }
    </Loaded>
  )
}

const titleOf = ({ how, members }: Found, text: string): string => {
  if (how === 'near') return `No one has “${text}”. Similar people`
  return members.length === 1 ? 'Found' : `Found in ${members.length} places, newest batch first`
}

interface FoundPeopleProps extends Pick<Found, 'members'> {
  readonly more?: (() => void) | undefined
}
const FoundPeople = ({ members, more }: FoundPeopleProps) => (
  <Table
    caption="People found"
    rows={members}
    more={more}
    rowKey={({ member }) => member.id}
    columns={[
      {
        name: 'Person',
        cell: (row) => <Link href={personPage(row)}>{row.member.memberKey}</Link>,
      },
      {
        name: 'Name',
        cell: ({ name, department }) => [name, department].filter(Boolean).join(', ') || '–',
      },
      { name: 'State', cell: ({ member }) => <PersonState member={member} /> },
      { name: 'Where', cell: ({ member }) => <Sentence text={member.where} /> },
      { name: 'Next phase', cell: (row) => <NextPhase row={row} /> },
      { name: 'Batch', cell: ({ batch }) => `${batch.id}, ${batch.runbookName}` },
      { name: 'Cut-over', cell: ({ batch }) => <Time at={batch.batchStartTime} none="by hand" /> },
    ]}
  />
)

const PersonState = ({ member }: { readonly member: Found['members'][number]['member'] }) => (
  <Status status={member.held ? 'held' : member.state} />
)

function NextPhase({ row: { nextPhase, member } }: { readonly row: Found['members'][number] }) {
  if (nextPhase === null || !isUnderWay(member.state)) return <span className="quiet">–</span>
  return (
    <>
      {nextPhase.phaseName}, <Time at={nextPhase.dueAt} none="when it is advanced" />
    </>
  )
}
