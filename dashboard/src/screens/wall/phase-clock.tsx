// One clock over all batches: what happened last, the time now, what is due next with its countdown.
import { Link } from 'wouter'
import { isLate } from '../../ui/late.ts'
import { Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Distance, Time, useNow } from '../../ui/time.tsx'
import type { WallBatch } from './use-wall.ts'

const LAST_MAX = 4
const NEXT_MAX = 8

interface Moment {
  readonly key: string
  readonly at: string
  readonly batchId: number
  readonly phaseName: string
  readonly status: string
  readonly word: string
}

export function PhaseClock({ batches }: { readonly batches: readonly WallBatch[] }) {
  const { last, late, next } = momentsOf(batches, useNow())
  return (
    <Section title="Clock">
      <ClockFace />
      <ol className="moments" aria-label="Last phases">
        {last.map((moment) => (
          <MomentLine key={moment.key} moment={moment} />
        ))}
      </ol>
      {late.length > 0 && (
        <ol className="moments" aria-label="Late phases">
          {late.map((moment) => (
            <MomentLine key={moment.key} moment={moment} />
          ))}
        </ol>
      )}
      <div className="moment-now">now</div>
      <ol className="moments" aria-label="Next phases">
        {next.map((moment) => (
          <MomentLine key={moment.key} moment={moment} />
        ))}
      </ol>
      {next.length === 0 && <p className="quiet">No phase is due.</p>}
    </Section>
  )
}

function momentsOf(batches: readonly WallBatch[], now: number) {
  const last: Moment[] = []
  const late: Moment[] = []
  const next: Moment[] = []
  for (const { batch, phases } of batches) {
    for (const { id, phaseName, status, dueAt, startedAt, endedAt } of phases) {
      const about = { batchId: batch.id, phaseName, status }
      if (status === 'pending' && dueAt !== null) {
        const due = { ...about, key: `${id} due`, at: dueAt }
        if (isLate(dueAt, now)) late.push({ ...due, status: 'late', word: 'late' })
        else next.push({ ...due, word: 'due' })
      }
      if (startedAt !== null)
        last.push({
          ...about,
          key: `${id} start`,
          at: startedAt,
          status: 'active',
          word: 'started',
        })
      if (startedAt !== null && endedAt !== null)
        last.push({ ...about, key: `${id} end`, at: endedAt, word: 'ended' })
    }
  }
  const inTime = (one: Moment, other: Moment) => Date.parse(one.at) - Date.parse(other.at)
  return {
    last: last.sort(inTime).slice(-LAST_MAX),
    late: late.sort(inTime).slice(0, NEXT_MAX),
    next: next.sort(inTime).slice(0, NEXT_MAX),
  }
}

const MomentLine = ({ moment }: { readonly moment: Moment }) => (
  <li className="moment">
    <Time at={moment.at} />
    <span className="moment-what">
      <Status status={moment.status} text={moment.word} /> {moment.phaseName}{' '}
      <Link href={`/batches/${moment.batchId}`}>batch {moment.batchId}</Link>
    </span>
    <span className="moment-distance">
      <Distance to={moment.at} />
    </span>
  </li>
)

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })

/** The server's time in the viewer's zone. */
export function ClockFace() {
  const now = new Date(useNow())
  return (
    <p className="clock-face" title={`${now.toISOString().slice(0, 19).replace('T', ' ')} UTC`}>
      <time className="clock-time" dateTime={now.toISOString()}>
        {clock.format(now)}
      </time>
      <span className="clock-day">{day.format(now)}</span>
    </p>
  )
}
