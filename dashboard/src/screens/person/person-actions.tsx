// What an operator may do about this person now: the API names the possible actions, most useful first. Each asks before it runs.
import { useState } from 'react'
import { CHANGES, type MembersChange } from '../../members/changes.ts'
import { MembersDecision } from '../../members/members-decision.tsx'
import { Button } from '../../ui/button.tsx'
import { Section } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import type { Person } from './story.ts'

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
  const offered = names.filter(isForMember).flatMap((name) => CHANGE_OF[name] ?? [])
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
            kind={at === 0 && ['retry', 'resume'].includes(change) ? 'primary' : 'plain'}
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
      {hasFrom && (
        <FromStep
          person={person}
          value={fromStep}
          none={change === 'retry' ? 'the step that failed' : 'the first step'}
          onChange={setFromStep}
        />
      )}
      {change === 'move' && (
        <label className="field">
          To batch
          <input
            type="number"
            min={1}
            value={toBatchId}
            onChange={(event) => setToBatchId(event.target.value)}
          />
        </label>
      )}
      {change === 'done' && (
        <label className="field">
          Outputs, one name=value per line (optional)
          <textarea rows={3} value={outputs} onChange={(event) => setOutputs(event.target.value)} />
        </label>
      )}
    </MembersDecision>
  )
}

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
