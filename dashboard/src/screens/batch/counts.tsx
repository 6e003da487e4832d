// Everybody of the batch by outcome. The figures add up to the total, and each leads to its people.
import { Link } from 'wouter'
import { countText, Figure } from '../../ui/page.tsx'
import { lookOf } from '../../ui/status.tsx'
import type { Summary } from './batch.tsx'
import { showPeople } from './members/member-list.tsx'

const OUTCOMES = [
  ['migrated', 'migrated', 'Migrated'],
  ['inProgress', 'in_progress', 'In progress'],
  ['failed', 'failed', 'Failed'],
  ['stopped', 'stopped', 'Stopped'],
  ['removed', 'removed', 'Removed'],
] as const

export function Counts({ batch }: { readonly batch: Summary['batch'] }) {
  const { members, heldMemberCount } = batch
  const counts = OUTCOMES.map(([key, outcome, name]) => ({ outcome, name, count: members[key] }))
  return (
    <>
      <div className="counts-bar" aria-hidden="true">
        {counts.map(({ outcome, count }) => (
          <span
            key={outcome}
            data-look={lookOf(outcome.replace('_', ' '))}
            data-outcome={outcome}
            style={{ flexGrow: count }}
          />
        ))}
      </div>
      <div className="figures">
        {counts.map(({ outcome, name, count }) => (
          <Link
            key={outcome}
            className="figure-link"
            href={`/batches/${batch.id}?outcome=${outcome}`}
            onClick={showPeople}
          >
            <Figure
              name={name}
              value={count}
              look={count === 0 ? 'idle' : lookOf(outcome.replace('_', ' '))}
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
