// Dead letters: messages that could not be handled. A person replays or discards them, one or many.
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { usePages } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Distance } from '../../ui/time.tsx'
import { LetterDecision, type LetterVerb } from './letter-decision.tsx'
import { kindText } from './letter-text.ts'
import './dead-letters.css'

type Letter = Answer<'GET /api/dead-letters'>['deadLetters'][number]
type Topic = Letter['topic']
const TOPICS: Readonly<Record<Topic, string>> = {
  'worker-results': 'Results of workers',
  'worker-jobs': 'Jobs for workers',
  'orchestrator-events': 'Messages inside the orchestrator',
}

export default function DeadLetters() {
  useLive({ entity: 'system,worker,batch' })
  const [search, setSearch] = useSearchParams()
  const topic = (search.get('topic') ?? '') as Topic | ''
  const reading = usePages('GET /api/dead-letters', { query: topic ? { topic } : {} })
  return (
    <Page
      title="Dead letters"
      lead="Messages that could not be handled. Each is kept until a person replays or discards it."
    >
      <Section title="Oldest first">
        <div className="filters">
          <label className="field">
            Topic
            <select
              value={topic}
              onChange={({ target }) => setSearch(target.value ? { topic: target.value } : {})}
            >
              <option value="">All</option>
              {Object.entries(TOPICS).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        </div>
        <Loaded reading={reading} what="the dead letters">
          {({ pages }) => (
            <Letters
              letters={pages.flatMap(({ deadLetters }) => deadLetters)}
              more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
            />
          )}
        </Loaded>
      </Section>
    </Page>
  )
}

interface LettersProps {
  readonly letters: readonly Letter[]
  readonly more: (() => void) | undefined
}

function Letters({ letters, more }: LettersProps) {
  const { mayChange } = useSession()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [verb, setVerb] = useState<LetterVerb | null>(null)
  const selected = letters.filter(({ id }) => chosen.has(id))
  if (letters.length === 0 && !more && verb === null)
    return <Empty title="No dead letters">Every message was handled.</Empty>
  return (
    <>
      {mayChange && (
        <p className="selection">
          <span role="status">{selected.length} selected</span>
          <Button disabled={selected.length === 0} onClick={() => setVerb('replay')}>
            Replay …
          </Button>
          <Button disabled={selected.length === 0} onClick={() => setVerb('discard')}>
            Discard …
          </Button>
        </p>
      )}
      <Table
        caption="Dead letters"
        rows={letters}
        rowKey={({ id }) => id}
        more={more}
        columns={[...(mayChange ? [choice(letters, chosen, setChosen)] : []), ...COLUMNS]}
      />
      {verb && (
        <LetterDecision
          verb={verb}
          letters={selected}
          onClose={() => {
            setVerb(null)
            setChosen(new Set())
          }}
        />
      )}
    </>
  )
}

const COLUMNS: readonly Column<Letter>[] = [
  { name: 'Since', cell: ({ deadLetteredAt }) => <Distance to={deadLetteredAt} /> },
  {
    name: 'Message',
    cell: (letter) => (
      <>
        <Link href={`/dead-letters/${encodeURIComponent(letter.id)}`}>{kindText(letter)}</Link>
        <div className="quiet">
          <code>{letter.messageId}</code>
        </div>
      </>
    ),
  },
  { name: 'Queue', cell: ({ subscription }) => subscription },
  {
    name: 'Why',
    cell: ({ reason, description }) => (
      <>
        {reason}
        <div className="quiet why">{description}</div>
      </>
    ),
  },
  { name: 'Deliveries', isNumber: true, cell: ({ deliveryCount }) => deliveryCount },
]

const choice = (
  letters: readonly Letter[],
  chosen: ReadonlySet<string>,
  onChoose: (chosen: ReadonlySet<string>) => void,
): Column<Letter> => ({
  name: 'Select',
  head: (
    <input
      type="checkbox"
      aria-label="Select all shown"
      checked={letters.length > 0 && letters.every(({ id }) => chosen.has(id))}
      onChange={({ target }) =>
        onChoose(new Set(target.checked ? letters.map(({ id }) => id) : []))
      }
    />
  ),
  cell: ({ id, messageId }) => (
    <input
      type="checkbox"
      aria-label={`Select ${messageId}`}
      checked={chosen.has(id)}
      onChange={({ target }) => {
        const next = new Set(chosen)
        if (target.checked) next.add(id)
        else next.delete(id)
        onChoose(next)
      }}
    />
  ),
})
