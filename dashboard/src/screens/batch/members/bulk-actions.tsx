// Actions on the selected people. Each is tried first and confirmed for the number that was shown; what came of it stays until the next.
import { useState } from 'react'
import { Link } from 'wouter'
import { useReading } from '../../../api/hooks.ts'
import { CHANGES, type MembersChange } from '../../../members/changes.ts'
import {
  MembersDecision,
  type Outcome,
  peopleOf,
  Refused,
} from '../../../members/members-decision.tsx'
import { Button } from '../../../ui/button.tsx'
import { countText } from '../../../ui/page.tsx'
import type { Summary } from '../batch.tsx'
import { type MemberFilter, type Selection, selectOf } from './member-filter.ts'

const OFFERED = ['retry', 'skip', 'hold', 'resume', 'remove'] as const

interface BulkActionsProps {
  readonly batch: Summary['batch']
  readonly filter: MemberFilter
  readonly selection: Selection
  readonly count: { readonly total: number; readonly isExact: boolean }
}

export function BulkActions({ batch, filter, selection, count }: BulkActionsProps) {
  const [asked, setAsked] = useState<MembersChange | null>(null)
  const [result, setResult] = useState<ResultProps | null>(null)
  const [fromStep, setFromStep] = useState('')
  const select = selectOf(selection, filter)
  const all = `${countText(count.total)}${count.isExact ? '' : ' or more'}`
  const who = selection.isAll ? `all ${all} that match` : peopleOf(selection.ids.size)
  return (
    <div className="bulk">
      <span role="status">
        {select === null
          ? 'No one is selected.'
          : selection.isAll
            ? `All ${all} are selected.`
            : `${selection.ids.size} selected.`}
      </span>
      {!selection.isAll && <Button onClick={selection.selectAll}>Select all {all}</Button>}
      {select && <Button onClick={selection.clear}>Clear selection</Button>}
      <div className="actions">
        {OFFERED.map((change) => (
          <Button key={change} disabled={!select} onClick={() => setAsked(change)}>
            {CHANGES[change].verb}
          </Button>
        ))}
      </div>
      {asked && select && (
        <MembersDecision
          change={asked}
          who={who}
          targets={[{ batchId: batch.id, select }]}
          more={asked === 'retry' && fromStep !== '' ? { fromStep } : {}}
          onClose={() => setAsked(null)}
          onDone={(results) => {
            setAsked(null)
            setResult({ verb: CHANGES[asked].verb, results })
            selection.clear()
          }}
        >
          {asked === 'retry' && (
            <FromStep batchId={batch.id} value={fromStep} onChange={setFromStep} />
          )}
        </MembersDecision>
      )}
      {result && <Result {...result} />}
    </div>
  )
}

interface FromStepProps {
  readonly batchId: number
  readonly value: string
  readonly onChange: (value: string) => void
}

function FromStep({ batchId, value, onChange }: FromStepProps) {
  const { data } = useReading(
    'GET /api/batches/{batchId}/grid',
    { params: { batchId }, query: { limit: 1 } },
    { isLive: false },
  )
  return (
    <label className="field">
      From
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">the failed step</option>
        {data?.columns.map(({ phaseName, stepName }) => (
          <option key={`${phaseName}/${stepName}`}>{`${phaseName}/${stepName}`}</option>
        ))}
      </select>
    </label>
  )
}

interface ResultProps {
  readonly verb: string
  readonly results: readonly Outcome[]
}
function Result({ verb, results }: ResultProps) {
  const { doneCount, refusedCount, actionId } = results[0]!
  return (
    <div className="note" data-look={refusedCount > 0 ? 'warn' : 'good'} role="status">
      <p>
        {verb}: done for {peopleOf(doneCount)}
        {refusedCount > 0 && `, refused for ${peopleOf(refusedCount)}`}.{' '}
        {actionId !== null && <Link href={`/actions/${actionId}`}>See what became of them</Link>}
      </p>
      <Refused outcomes={results} />
    </div>
  )
}
