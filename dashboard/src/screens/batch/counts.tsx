// Everybody of the batch by state. The figures add up to the total, and each leads to its people.
import { Link } from 'wouter'
import {
  PERSON_STATES,
  type PersonState,
  stateWord,
} from '../../../../src/domain/state/person-state.ts'
import { countText, Figure } from '../../ui/page.tsx'
import { lookOf } from '../../ui/status.tsx'
import type { Summary } from './batch.tsx'
import { showPeople } from './members/member-list.tsx'

/** Shown even when nobody is in them: what a wave is for, and what it is feared for. */
const ALWAYS: ReadonlySet<PersonState> = new Set(['cut_over', 'done', 'failed'])

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export function Counts({ batch }: { readonly batch: Summary['batch'] }) {
  const { members, heldMemberCount } = batch
  const counts = PERSON_STATES.filter((state) => ALWAYS.has(state) || members[state] > 0).map(
    (state) => ({ state, count: members[state] }),
  )
  return (
    <>
      <div className="counts-bar" aria-hidden="true">
        {counts.map(({ state, count }) => (
          <span
            key={state}
            data-look={lookOf(state)}
            data-state={state}
            style={{ flexGrow: count }}
          />
        ))}
      </div>
      <div className="figures">
        {counts.map(({ state, count }) => (
          <Link
            key={state}
            className="figure-link"
            href={`/batches/${batch.id}?state=${state}`}
            onClick={showPeople}
          >
            <Figure
              name={capital(stateWord(state))}
              value={count}
              look={count === 0 ? 'idle' : lookOf(state)}
            />
          </Link>
        ))}
        <Link className="figure-link sum" href={`/batches/${batch.id}`}>
          <Figure name="All members" value={`= ${countText(members.total)}`} />
        </Link>
        {heldMemberCount > 0 && (
          <Link
            className="figure-link"
            href={`/batches/${batch.id}?held=true`}
            onClick={showPeople}
          >
            <Figure name="of these on hold" value={heldMemberCount} look="warn" />
          </Link>
        )}
      </div>
    </>
  )
}
