// Workers and data sources at a glance.
import { Link } from 'wouter'
import { countText, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Distance } from '../../ui/time.tsx'
import type { WallAnswer } from './use-wall.ts'

export const Workers = ({ workers }: Pick<WallAnswer, 'workers'>) => (
  <Section title="Workers" actions={<Link href="/workers">See all</Link>}>
    {workers.length === 0 ? (
      <p className="quiet">
        No worker has announced itself. Start one: <code>matoolkit serve --roles worker</code>
      </p>
    ) : (
      <ul className="glance">
        {workers.map(({ workerId, state, busy, slots, waiting, lastSeenAt }) => (
          <li key={workerId}>
            <span className="glance-name">{workerId}</span>
            <Status status={state} />
            <span className="quiet">
              {countText(busy)} {busy === 1 ? 'job' : 'jobs'} in hand
              {slots !== null && `, ${countText(slots)} ${slots === 1 ? 'slot' : 'slots'}`}
              {waiting > 0 && `, ${countText(waiting)} waiting`}
              {state === 'silent' && lastSeenAt !== null && (
                <>
                  , seen <Distance to={lastSeenAt} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    )}
  </Section>
)

export const Sources = ({ sources, openReviews }: Pick<WallAnswer, 'sources' | 'openReviews'>) => (
  <Section title="Sources" actions={<Link href="/sources">See all</Link>}>
    {sources.length === 0 ? (
      <p className="quiet">No runbook reads a data source automatically.</p>
    ) : (
      <ul className="glance">
        {sources.map(({ runbookName, lastOutcome, lastTickAt, nextTickAt }) => (
          <li key={runbookName}>
            <span className="glance-name">{runbookName}</span>
            <Status status={lastOutcome ?? 'pending'} text={lastOutcome ?? 'not read yet'} />
            <span className="quiet">
              {lastTickAt !== null && (
                <>
                  read <Distance to={lastTickAt} />
                </>
              )}
              {nextTickAt !== null && (
                <>
                  , next <Distance to={nextTickAt} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    )}
    <OpenReviews count={openReviews.removal + openReviews.move + openReviews.join} />
  </Section>
)

const OpenReviews = ({ count }: { readonly count: number }) =>
  count > 0 && (
    <p className="glance-note">
      <Link href="/sources">
        {countText(count)} open {count === 1 ? 'review' : 'reviews'}
      </Link>
    </p>
  )
