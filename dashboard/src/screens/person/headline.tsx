// The answer on the phone: where the person is, why, what comes next and when, and their addresses.
import { useReading } from '../../api/hooks.ts'
import { Meaning } from '../../ui/meaning.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { lookOf, Status } from '../../ui/status.tsx'
import { Distance, Time } from '../../ui/time.tsx'
import {
  type Address,
  addressesOf,
  comingOf,
  failedStepOf,
  headlineOf,
  type Person,
} from './story.ts'

export function HeadlineCard({ person }: { readonly person: Person }) {
  const { status, where, why, next } = headlineOf(person)
  const meaning = failedStepOf(person)?.meaning
  return (
    <section className="headline" data-look={lookOf(status)} aria-label="What is going on">
      <Status status={status} />
      <p className="headline-where">
        <Sentence text={where} />
      </p>
      {why && (
        <p className="headline-why">
          <Sentence text={why} />
        </p>
      )}
      {meaning && <Meaning meaning={meaning} />}
      <p className="headline-next">
        <strong>Next:</strong> <Sentence text={next} /> <NextDistance person={person} />
      </p>
      <Facts person={person} />
    </section>
  )
}

/** How long until something happens for a person who waits. */
function NextDistance({ person }: { readonly person: Person }) {
  const at = comingOf(person).find((one) => one.at !== null)?.at
  return at && person.held === null && !person.isHeld ? (
    <span className="quiet">
      (<Distance to={at} />)
    </span>
  ) : null
}

function Facts({ person }: { readonly person: Person }) {
  const { old, new: added } = addressesOf(person)
  const { memberKey, batchId } = person.member
  const found = useReading('GET /api/members', { query: { text: memberKey } })
  const own = found.data?.members.find((one) => one.batch.id === batchId)
  const batch = own?.batch
  return (
    <dl className="facts">
      {own?.name && (
        <div>
          <dt>Name</dt>
          <dd>{[own.name, own.department].filter(Boolean).join(', ')}</dd>
        </div>
      )}
      <div>
        <dt>Old address</dt>
        <dd>
          <Addresses addresses={old} none="none in the data source" />
        </dd>
      </div>
      <div>
        <dt>New address</dt>
        <dd>
          <Addresses addresses={added} none="none yet" />
        </dd>
      </div>
      {batch && (
        <>
          <div>
            <dt>Cut-over</dt>
            <dd>
              <Time at={batch.batchStartTime} none="started by hand" />
            </dd>
          </div>
          <div>
            <dt>Runbook</dt>
            <dd>{batch.runbookName}</dd>
          </div>
        </>
      )}
    </dl>
  )
}

function Addresses(props: { readonly addresses: readonly Address[]; readonly none: string }) {
  if (props.addresses.length === 0) return <span className="quiet">{props.none}</span>
  return (
    <ul className="addresses">
      {props.addresses.map(({ address, names }) => (
        <li key={address}>
          {address}{' '}
          <span className="quiet">{names.filter((name) => name !== 'key').join(', ')}</span>
        </li>
      ))}
    </ul>
  )
}
