// The heat map zoomed out: a row stands for many neighbouring members, a cell shows them by class. A row opens its members.
// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by position, which a table cannot do
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid is the one tab stop
// biome-ignore-all lint/a11y/noNoninteractiveTabindex: a scrolling area needs the keyboard (WCAG 2.1.1)
import { Link } from 'wouter'
import { useReading } from '../../../api/hooks.ts'
import type { Answer } from '../../../api/routes.ts'
import { Loaded } from '../../../ui/feedback.tsx'
import { countText } from '../../../ui/page.tsx'
import { Sign } from '../../../ui/sign.tsx'
import { Time } from '../../../ui/time.tsx'
import { GridHead } from './grid-head.tsx'

type OverviewAnswer = Answer<'GET /api/batches/{batchId}/grid/overview'>

const ROWS = 40
const EVERY_MS = 5_000
/** One failure among thousands must be seen. */
const SEEN_MIN = 0.12

export function Overview({ batchId }: { readonly batchId: number }) {
  const reading = useReading(
    'GET /api/batches/{batchId}/grid/overview',
    { params: { batchId }, query: { rows: ROWS } },
    { everyMs: EVERY_MS, isLive: false },
  )
  return (
    <Loaded reading={reading} what="the overview">
      {(overview) => (
        <>
          <OverviewGrid batchId={batchId} overview={overview} />
          <p className="quiet">
            A row stands for {countText(overview.membersPerRow)} members; open it to see them. A
            failure is shown wider than its share, so that one in thousands is seen. Counted{' '}
            <Time at={overview.at} />.
          </p>
        </>
      )}
    </Loaded>
  )
}

interface OverviewGridProps {
  readonly batchId: number
  readonly overview: OverviewAnswer
}

function OverviewGrid({ batchId, overview }: OverviewGridProps) {
  const { columns, rows, classes, membersPerRow, total } = overview
  return (
    <div
      role="table"
      className="grid-scroll overview"
      aria-label="Members by steps, counted"
      tabIndex={0}
      style={{ '--steps': columns.length } as never}
    >
      <GridHead columns={columns} first="Members" />
      <div role="rowgroup">
        {rows.map((cells, index) => {
          const from = index * membersPerRow
          const to = Math.min(from + membersPerRow, total)
          return (
            <div role="row" className="grid-row" key={from}>
              <div role="rowheader" className="grid-who">
                <Link href={`/batches/${batchId}?view=people&row=${from}`}>
                  {countText(from + 1)}–{countText(to)}
                </Link>
              </div>
              {cells.map((counts, column) => {
                const text = cellText(counts, classes)
                return (
                  <div
                    key={`${columns[column]!.phaseName}/${columns[column]!.stepName}`}
                    role="cell"
                    className="mix"
                    aria-label={text}
                    title={`${columns[column]!.stepName}: ${text}`}
                    style={{ background: gradient(counts, classes, to - from) }}
                  >
                    {failedIn(counts, classes) > 0 && (
                      <span className="mix-failed">
                        <Sign sign="✕" />
                      </span>
                    )}
                  </div>
                )
              })}
            </div>
          )
        })}
      </div>
    </div>
  )
}

const failedIn = (counts: readonly number[], classes: OverviewAnswer['classes']): number =>
  counts[classes.indexOf('failed')] ?? 0

function cellText(counts: readonly number[], classes: OverviewAnswer['classes']): string {
  const parts = classes.flatMap((name, at) =>
    counts[at]! > 0 ? [`${countText(counts[at]!)} ${name}`] : [],
  )
  return parts.length === 0 ? 'to come' : parts.join(', ')
}

const ORDER = ['passed', 'running', 'waiting', 'undone', 'failed'] as const

/** Shares from left to right; who has no step yet stays empty. */
function gradient(
  counts: readonly number[],
  classes: OverviewAnswer['classes'],
  members: number,
): string {
  const failed = failedIn(counts, classes)
  const failedShare = failed === 0 ? 0 : Math.max(SEEN_MIN, failed / members)
  const rest = Math.max(1, members - failed)
  let at = 0
  const stops: string[] = []
  for (const name of ORDER) {
    const count = counts[classes.indexOf(name)] ?? 0
    const share = name === 'failed' ? failedShare : (count / rest) * (1 - failedShare)
    if (share === 0) continue
    const to = at + share * 100
    stops.push(`var(--mix-${name}) ${at.toFixed(2)}% ${to.toFixed(2)}%`)
    at = to
  }
  stops.push(`transparent ${at.toFixed(2)}%`)
  return `linear-gradient(to right, ${stops.join(', ')})`
}
