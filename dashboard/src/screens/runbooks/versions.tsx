// Versions: who published each, when and why; the differences of any two. Both stand in the address.
import { lazy, Suspense } from 'react'
import { useSearchParams } from 'wouter'
import { usePages, useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Empty, Loaded, Loading } from '../../ui/feedback.tsx'
import { Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import type { TabProps } from './runbook.tsx'

const Diff = lazy(() => import('./editor/diff.tsx'))

const LISTED = 100
const REASONS_READ = 500

type Version = Answer<'GET /api/runbooks/{name}/versions'>['versions'][number]

export function Versions({ runbook: { name, version: newest } }: TabProps) {
  const [search, setSearch] = useSearchParams()
  const pages = usePages('GET /api/runbooks/{name}/versions', {
    params: { name },
    query: { limit: LISTED },
  })
  const numberIn = (key: string, fallback: number) => Number(search.get(key)) || fallback
  const to = numberIn('to', newest)
  const from = numberIn('from', Math.max(1, to - 1))
  const choose = (given: { readonly from?: number; readonly to?: number }) =>
    setSearch(
      { tab: 'versions', from: String(given.from ?? from), to: String(given.to ?? to) },
      { replace: true },
    )
  return (
    <>
      <Section title="Versions">
        <Loaded reading={pages} what="the versions">
          {({ pages: all }) => (
            <VersionTable
              name={name}
              rows={all.flatMap(({ versions }) => versions)}
              from={from}
              to={to}
              choose={choose}
              total={all[0]!.total}
              more={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
            />
          )}
        </Loaded>
      </Section>
      <Section title={from === to ? `Text of version ${to}` : `From version ${from} to ${to}`}>
        <Difference name={name} from={from} to={to} />
      </Section>
    </>
  )
}

interface VersionTableProps {
  readonly name: string
  readonly rows: readonly Version[]
  readonly from: number
  readonly to: number
  readonly choose: (given: { readonly from?: number; readonly to?: number }) => void
  readonly total: number
  readonly more: (() => void) | undefined
}

function VersionTable({ name, rows, from, to, choose, total, more }: VersionTableProps) {
  const reasons = useReasons(name)
  const radio = (key: 'from' | 'to', version: number, chosen: number) => (
    <input
      type="radio"
      name={key}
      aria-label={`Compare ${key} version ${version}`}
      checked={version === chosen}
      onChange={() => choose({ [key]: version })}
    />
  )
  return (
    <Table
      caption={`Versions of ${name}`}
      rows={rows}
      rowKey={({ version }) => version}
      total={total}
      more={more}
      columns={[
        { name: 'From', cell: ({ version }) => radio('from', version, from) },
        { name: 'To', cell: ({ version }) => radio('to', version, to) },
        {
          name: 'Version',
          cell: ({ version, isActive }) => (
            <>
              {version} {isActive && <Status status="active" />}
            </>
          ),
        },
        { name: 'Published', cell: ({ publishedAt }) => <Time at={publishedAt} /> },
        { name: 'By', cell: ({ publishedBy }) => publishedBy },
        ...(reasons
          ? [{ name: 'Why', cell: ({ version }: Version) => reasons.get(version) ?? '–' }]
          : []),
        {
          name: 'Overdue phases',
          cell: (one) => (one.overdueBehavior === 'rerun' ? 'run again' : 'skipped'),
        },
      ]}
    />
  )
}

/** Reasons stand in the audit, which admins read. */
function useReasons(name: string): ReadonlyMap<number, string> | null {
  const { mayChange } = useSession()
  const { data } = useReading(
    'GET /api/audit',
    { query: { action: 'runbook.publish', subject: `runbook ${name}`, limit: REASONS_READ } },
    { isEnabled: mayChange },
  )
  if (!mayChange) return null
  return new Map(
    data?.entries.flatMap(({ reason, after }) => {
      const version = (after as { readonly version?: number } | null)?.version
      return version === undefined || reason === null ? [] : [[version, reason] as const]
    }),
  )
}

interface DifferenceProps {
  readonly name: string
  readonly from: number
  readonly to: number
}
function Difference({ name, from, to }: DifferenceProps) {
  const before = useReading('GET /api/runbooks/{name}/versions/{version}', {
    params: { name, version: from },
  })
  const after = useReading('GET /api/runbooks/{name}/versions/{version}', {
    params: { name, version: to },
  })
  return (
    <Loaded reading={before} what="the earlier text">
      {(earlier) => (
        <Loaded reading={after} what="the later text">
          {(later) =>
            from !== to && earlier.yamlContent === later.yamlContent ? (
              <Empty title="The two texts are the same" />
            ) : (
              <Suspense fallback={<Loading what="the differences" />}>
                <Diff
                  before={earlier.yamlContent}
                  after={later.yamlContent}
                  label={`Differences from version ${from} to version ${to}`}
                />
              </Suspense>
            )
          }
        </Loaded>
      )}
    </Loaded>
  )
}
