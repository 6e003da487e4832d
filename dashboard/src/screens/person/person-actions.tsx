// What an operator may do about this person now: the API names the possible actions, most useful first. Each asks before it runs.
import { useState } from 'react'
import { statesText } from '../../../../src/domain/state/person-state.ts'
import { useReading } from '../../api/hooks.ts'
import { CHANGES, type MembersChange } from '../../members/changes.ts'
import { MembersDecision } from '../../members/members-decision.tsx'
import { Button } from '../../ui/button.tsx'
import { Section } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { timeText } from '../../ui/time.tsx'
import { failedStepOf, firstLine, type Person } from './story.ts'

const CHANGE_OF: Readonly<Record<string, MembersChange>> = {
  retry: 'retry',
  skip: 'skip',
  mark_done: 'done',
  readd: 'readd',
  move: 'move',
  roll_back: 'rollback',
  remove: 'remove',
}

export function changesFor({ actions, held, state, member }: Person): MembersChange[] {
  // A failed rollback, removal or undo step has actions of the same names; its own are with the step.
  const names = actions.map(({ action }) => action)
  const ofSteps = names.filter((name) => name === 'retry_step' || name === 'undo').length
  const isForMember = (name: string) =>
    !['skip', 'mark_done'].includes(name) || names.filter((one) => one === name).length > ofSteps
  // Who was taken back on purpose has no failed step to leave out.
  const isOut = (change: MembersChange) =>
    state === 'taken_back' && (change === 'skip' || change === 'done')
  const offered = names
    .filter(isForMember)
    .flatMap((name) => CHANGE_OF[name] ?? [])
    .filter((change) => !isOut(change))
  const mayHold = held === null && member.status !== 'removed' && state !== 'done'
  return [
    ...(held ? (['resume'] as const) : []),
    ...new Set(offered.filter((change) => change !== 'remove')),
    ...(mayHold ? (['hold'] as const) : []),
    ...offered.filter((change) => change === 'remove'),
  ]
}

export function PersonActions({ person }: { readonly person: Person }) {
  const [asked, setAsked] = useState<MembersChange | null>(null)
  const changes = changesFor(person)
  const holds = person.actions.filter(({ action }) => action === 'resume')
  const wider = person.held ? holds.slice(0, -1) : holds
  if (changes.length === 0 && wider.length === 0) return null
  return (
    <Section title="What you can do">
      <div className="person-actions">
        {changes.map((change, at) => (
          <Button
            key={change}
            kind={
              at === 0 && ['retry', 'resume'].includes(change) && person.state !== 'taken_back'
                ? 'primary'
                : 'plain'
            }
            onClick={() => setAsked(change)}
          >
            {CHANGES[change].verb}
          </Button>
        ))}
      </div>
      {wider.map(({ about, command }) => (
        <p key={command} className="quiet">
          First <Sentence text={`${about}.`} /> <code>matoolkit {command}</code>
        </p>
      ))}
      {person.blockedBecause && (
        <p className="quiet">
          Not possible now: <Sentence text={`${person.blockedBecause}.`} />
        </p>
      )}
      {asked && (
        <PersonDecision key={asked} change={asked} person={person} onClose={() => setAsked(null)} />
      )}
    </Section>
  )
}

interface PersonDecisionProps {
  readonly change: MembersChange
  readonly person: Person
  readonly onClose: () => void
}
function PersonDecision({ change, person, onClose }: PersonDecisionProps) {
  const { id, batchId, memberKey } = person.member
  const [fromStep, setFromStep] = useState('')
  const [toBatchId, setToBatchId] = useState('')
  const [outputs, setOutputs] = useState('')
  const hasFrom = change === 'retry' || change === 'rollback'
  return (
    <MembersDecision
      change={change}
      who={memberKey}
      targets={[{ batchId, select: { ids: [id] } }]}
      more={{
        ...(hasFrom && fromStep !== '' && { fromStep }),
        ...(change === 'done' && { as: 'done' }),
        ...(change === 'move' && { toBatchId: Number(toBatchId) }),
      }}
      also={change === 'done' ? { outputs: outputsFrom(outputs) } : {}}
      isReady={change !== 'move' || Number(toBatchId) > 0}
      onClose={onClose}
    >
      {(change === 'skip' || change === 'done') && <FailedStep person={person} />}
      {hasFrom && (
        <FromStep
          person={person}
          value={fromStep}
          none={change === 'retry' ? 'the step that failed' : 'the first step'}
          onChange={setFromStep}
        />
      )}
      {change === 'move' && <ToWave batchId={batchId} value={toBatchId} onChange={setToBatchId} />}
      {change === 'done' && (
        <label className="field">
          Outputs, one name=value per line (optional)
          <textarea rows={3} value={outputs} onChange={(event) => setOutputs(event.target.value)} />
        </label>
      )}
    </MembersDecision>
  )
}

function FailedStep({ person }: { readonly person: Person }) {
  const step = failedStepOf(person)
  if (!step) return null
  return (
    <p>
      The step: <strong>{[step.phaseName, step.stepName].filter(Boolean).join(' / ')}</strong>
      {step.errorMessage && `: ${firstLine(step.errorMessage)}`}
    </p>
  )
}

interface ToWaveProps {
  readonly batchId: number
  readonly value: string
  readonly onChange: (batchId: string) => void
}
/** The open waves of the same runbook, by their cut-over. */
function ToWave({ batchId, value, onChange }: ToWaveProps) {
  const own = useReading('GET /api/batches/{batchId}', { params: { batchId } })
  const runbook = own.data?.batch.runbookName
  const open = useReading(
    'GET /api/batches',
    {
      query: {
        runbook,
        status: 'detected,init_dispatched,active',
        sort: 'start',
        limit: WAVES_MAX,
      },
    },
    { isEnabled: runbook !== undefined },
  )
  const waves = open.data?.batches.filter(({ id }) => id !== batchId)
  return (
    <label className="field">
      To wave
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{waves?.length === 0 ? 'no other wave is open' : 'choose'}</option>
        {waves?.map(({ id, batchStartTime, members }) => (
          <option key={id} value={id}>
            {batchStartTime === null ? 'by hand' : timeText(batchStartTime)}, batch {id}:{' '}
            {statesText(members)}
          </option>
        ))}
      </select>
    </label>
  )
}
const WAVES_MAX = 200

interface FromStepProps {
  readonly person: Person
  readonly value: string
  readonly none: string
  readonly onChange: (place: string) => void
}
/** Earlier steps run again too: after a rollback, or when the fault began before the step that failed. */
function FromStep({ person, value, none, onChange }: FromStepProps) {
  const places = person.steps
    .filter(({ kind }) => kind === 'phase')
    .map(({ phaseName, stepName }) => `${phaseName}/${stepName}`)
  return (
    <label className="field">
      From
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{none}</option>
        {[...new Set(places)].map((place) => (
          <option key={place} value={place}>
            {place}
          </option>
        ))}
      </select>
    </label>
  )
}

/** `Mail=ada@contoso.com`, one a line. */
const outputsFrom = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')).trim(), line.slice(line.indexOf('=') + 1)]),
  )
