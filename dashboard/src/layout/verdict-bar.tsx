// Over every page: whether action is needed, the place that handles it, and the stop of everything. The title of the tab says it too.
import { useEffect } from 'react'
import { Link } from 'wouter'
import { useReading } from '../api/hooks.ts'
import type { Answer } from '../api/routes.ts'
import { ErrorNote } from '../ui/feedback.tsx'
import { markTitle } from '../ui/page-title.ts'
import { Sentence } from '../ui/sentence.tsx'
import { Sign } from '../ui/sign.tsx'
import { Time } from '../ui/time.tsx'
import { HoldAll } from './hold-all.tsx'
import './verdict-bar.css'

export type Verdict = Answer<'GET /api/needs'>
type Need = Verdict['needs'][number]

const EVERY_MS = 5_000

/** The colour says how urgent it is, the sign too. */
export const LOOK_OF_SEVERITY: Readonly<
  Record<Need['severity'], readonly [look: string, sign: string]>
> = {
  urgent: ['bad', '!'],
  soon: ['warn', '?'],
  later: ['idle', 'i'],
  planned: ['idle', '⏸'],
}

export const isEverythingHeld = ({ needs }: Pick<Verdict, 'needs'>): boolean =>
  needs.some(({ kind }) => kind === 'everything_held')

/** The colour and sign of a verdict. */
export function lookOfVerdict(
  verdict: Pick<Verdict, 'severity' | 'needs'>,
): readonly [look: string, sign: string] {
  if (isEverythingHeld(verdict)) return ['bad', '⏸']
  return verdict.severity === null ? ['good', '✓'] : LOOK_OF_SEVERITY[verdict.severity]
}

/** `(3!) ` with something urgent, `(3) ` without, `Held: ` while everything is. */
function markOf(verdict: Verdict): string {
  const { needs, severity } = verdict
  if (isEverythingHeld(verdict)) return 'Held: '
  return needs.length === 0 ? '' : `(${needs.length}${severity === 'urgent' ? '!' : ''}) `
}

export function useVerdict() {
  const reading = useReading('GET /api/needs', {}, { everyMs: EVERY_MS })
  const { data } = reading
  const mark = data ? markOf(data) : ''
  useEffect(() => {
    markTitle(mark)
    return () => markTitle('')
  }, [mark])
  return reading
}

export function VerdictBar() {
  const { data: verdict, error, refetch } = useVerdict()
  if (!verdict)
    return error ? (
      <div className="verdict-error">
        <ErrorNote error={error} onRetry={() => void refetch()} />
      </div>
    ) : null
  const [look, sign] = lookOfVerdict(verdict)
  const [first] = verdict.needs
  return (
    <section className="verdict" data-look={look} aria-label="Who is needed">
      <Sign sign={sign} />
      <p className="verdict-text">
        <Sentence text={verdict.headline} />{' '}
        {error && (
          <strong>
            As of <Time at={verdict.at} />: the API does not answer.
          </strong>
        )}
      </p>
      {first && (
        <Link href={first.page.path} className="verdict-link">
          {first.page.link}
        </Link>
      )}
      <HoldAll isHeld={isEverythingHeld(verdict)} />
    </section>
  )
}
