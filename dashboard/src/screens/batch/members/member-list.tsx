// The people of the batch: filters, the heat map, and actions on those selected.

import { useCallback, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { PERSON_STATES, stateWord } from '../../../../../src/domain/state/person-state.ts'
import { useReading } from '../../../api/hooks.ts'
import { useSession } from '../../../sign-in/use-session.ts'
import { Button } from '../../../ui/button.tsx'
import { CsvButton } from '../../../ui/csv-button.tsx'
import { Empty } from '../../../ui/feedback.tsx'
import { ChoiceFilter, Filters, TextFilter, useFilter } from '../../../ui/filters.tsx'
import { countText, Section } from '../../../ui/page.tsx'
import { Sign } from '../../../ui/sign.tsx'
import type { Summary } from '../batch.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { CELLS } from './cells.ts'
import { isFiltered, useMemberFilter, useSelection } from './member-filter.ts'
import { MemberGrid } from './member-grid.tsx'
import { Overview } from './overview.tsx'

/** For links to people from further up. */
export const showPeople = (): void => document.getElementById('people')?.scrollIntoView()

/** Above this, the first look is the overview. */
const FEW = 200
const COLUMNS_EVERY_MS = 60_000

const STATES = PERSON_STATES.map((state) => [state, stateWord(state)] as const)
const HOLDS = [
  ['true', 'On hold'],
  ['false', 'Not on hold'],
] as const

interface MemberListProps {
  readonly batch: Summary['batch']
  readonly phases: Summary['phases']
}

export function MemberList({ batch, phases }: MemberListProps) {
  const { mayChange } = useSession()
  const filter = useMemberFilter()
  const selection = useSelection()
  const [chosenView] = useFilter('view')
  const [count, setCount] = useState({ total: batch.members.total, isExact: true })
  const onCount = useCallback((total: number, isExact: boolean) => setCount({ total, isExact }), [])
  const { total } = batch.members
  const filtered = isFiltered(filter)
  const isOverview =
    !filtered && (chosenView === '' ? total > FEW : chosenView === 'overview') && total > 0
  return (
    <div id="people">
      <Section
        title="People"
        actions={<PeopleActions batchId={batch.id} isOverview={isOverview} />}
      >
        <MemberFilters batchId={batch.id} phases={phases} />
        {mayChange && (
          <BulkActions batch={batch} filter={filter} selection={selection} count={count} />
        )}
        {total === 0 ? (
          <Empty title="This batch has no members" />
        ) : isOverview ? (
          <Overview batchId={batch.id} />
        ) : (
          <>
            <p className="quiet" role="status">
              {filtered
                ? `${countText(count.total)}${count.isExact ? '' : ' or more'} of ${countText(total)} match.`
                : `All ${countText(total)} members.`}
            </p>
            <MemberGrid
              key={JSON.stringify(filter)}
              batchId={batch.id}
              memberCount={total}
              filter={filter}
              selection={mayChange ? selection : null}
              onCount={onCount}
            />
          </>
        )}
        <Legend />
      </Section>
    </div>
  )
}

interface PeopleActionsProps {
  readonly batchId: number
  readonly isOverview: boolean
}

function PeopleActions({ batchId, isOverview }: PeopleActionsProps) {
  const filter = useMemberFilter()
  const [, setParams] = useSearchParams()
  const show = (view: string) =>
    setParams(
      view === 'overview' ? { view } : (former) => ({ ...Object.fromEntries(former), view }),
    )
  return (
    <>
      <Button aria-pressed={isOverview} onClick={() => show('overview')}>
        Overview
      </Button>
      <Button aria-pressed={!isOverview} onClick={() => show('people')}>
        Row by row
      </Button>
      <CsvButton
        endpoint="GET /api/batches/{batchId}/members"
        given={{ params: { batchId }, query: filter }}
        name={`batch-${batchId}-members`}
      />
    </>
  )
}

interface MemberFiltersProps {
  readonly batchId: number
  readonly phases: Summary['phases']
}

function MemberFilters({ batchId, phases }: MemberFiltersProps) {
  const { data } = useReading(
    'GET /api/batches/{batchId}/grid',
    { params: { batchId }, query: { limit: 1 } },
    { everyMs: COLUMNS_EVERY_MS, isLive: false },
  )
  const names = unique(phases.map(({ phaseName }) => phaseName))
  const steps = unique(data?.columns.map(({ stepName }) => stepName) ?? [])
  const filter = useMemberFilter()
  return (
    <Filters>
      <TextFilter name="search" label="Search" hint="Part of the key" />
      <ChoiceFilter name="state" label="State" options={STATES} />
      <ChoiceFilter name="phase" label="Now in phase" options={names} />
      <ChoiceFilter name="step" label="Now at step" options={steps} />
      <ChoiceFilter name="failedPhase" label="Failed in phase" options={names} />
      <ChoiceFilter name="failedStep" label="Failed at step" options={steps} />
      <TextFilter name="error" label="Error" hint="Part of the message" />
      <ChoiceFilter name="held" label="Hold" options={HOLDS} />
      <PatternFilter />
      {isFiltered(filter) && <Link href={`/batches/${batchId}`}>Clear filters</Link>}
    </Filters>
  )
}

const unique = (names: readonly string[]) =>
  [...new Set(names)].map((name) => [name, name] as const)

/** Set by a failure group. */
function PatternFilter() {
  const [pattern, setPattern] = useFilter('pattern')
  if (pattern === '') return null
  return (
    <p className="filter">
      <span>Failure group</span>
      <span className="chip">
        {pattern}{' '}
        <button type="button" aria-label="Remove this filter" onClick={() => setPattern('')}>
          <Sign sign="✕" />
        </button>
      </span>
    </p>
  )
}

const Legend = () => (
  <ul className="legend" aria-label="Signs">
    {Object.entries(CELLS).map(([letter, { name, sign, look }]) => (
      <li key={letter}>
        <span className="cell" data-look={look} aria-hidden="true">
          <Sign sign={sign} />
        </span>{' '}
        {name}
      </li>
    ))}
  </ul>
)
