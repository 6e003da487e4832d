// The plan of a run: phases with their times, steps with examples. Of the active version or of an unpublished text; changes nothing.
import { useId, useState } from 'react'
import { planNotes } from '../../../../src/domain/plan/plan-notes.ts'
import { useChange, useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, ErrorNote, Loading } from '../../ui/feedback.tsx'
import { countText, Section } from '../../ui/page.tsx'
import { Distance, durationText, Time } from '../../ui/time.tsx'
import type { TabProps } from './runbook.tsx'

type Plan = Answer<'POST /api/runbooks/{name}/plan'>
type Step = Plan['init'][number]

const MINUTE_MS = 60_000
const BATCHES_OFFERED = 100

export const PlanTab = ({ runbook }: TabProps) => <PlanOf name={runbook.name} />

export function PlanOf({ name, yaml }: { readonly name: string; readonly yaml?: string }) {
  const plan = useChange('POST /api/runbooks/{name}/plan')
  const batches = useReading('GET /api/batches', {
    query: { runbook: name, limit: BATCHES_OFFERED, status: 'detected,active,init_dispatched' },
  })
  const [batchId, setBatchId] = useState('')
  const [start, setStart] = useState('')
  const id = useId()
  const ask = () =>
    plan.mutate({
      params: { name },
      body: {
        ...(yaml !== undefined && { yamlContent: yaml }),
        ...(batchId !== '' && { batchId: Number(batchId) }),
        ...(start !== '' && { startTime: new Date(start).toISOString() }),
      },
    })
  return (
    <Section title="Plan">
      <form
        className="inline-form"
        onSubmit={(event) => {
          event.preventDefault()
          ask()
        }}
      >
        <label htmlFor={`${id}-for`}>For</label>
        <select
          id={`${id}-for`}
          value={batchId}
          onChange={({ target }) => setBatchId(target.value)}
        >
          <option value="">a sample member</option>
          {batches.data?.batches.map((batch) => (
            <option key={batch.id} value={batch.id}>
              batch {batch.id} ({countText(batch.memberCount)} members)
            </option>
          ))}
        </select>
        <label htmlFor={`${id}-start`}>Start (T)</label>
        <input
          id={`${id}-start`}
          type="datetime-local"
          value={start}
          onChange={({ target }) => setStart(target.value)}
        />
        <Button type="submit" kind="primary" disabled={plan.isPending}>
          Show plan
        </Button>
      </form>
      {plan.error && <ErrorNote error={plan.error} onRetry={ask} />}
      {plan.isPending && <Loading what="the plan" />}
      {plan.isIdle && (
        <Empty title="No plan yet">
          <p>Choose a batch or a start time, then “Show plan”. A plan changes nothing.</p>
        </Empty>
      )}
      {plan.data && !plan.isPending && <Planned plan={plan.data} />}
    </Section>
  )
}

function Planned({ plan }: { readonly plan: Plan }) {
  return (
    <ol className="plan">
      {plan.warnings.map((warning) => (
        <li key={warning} className="warn-text">
          {warning}
        </li>
      ))}
      {plan.init.length > 0 && (
        <li>
          <h3>Init</h3>
          <Steps steps={plan.init} />
        </li>
      )}
      {plan.phases.map((phase) => (
        <li key={phase.name}>
          <h3>
            {phase.name} <span className="quiet">{offsetText(phase.offsetMinutes)}</span>
          </h3>
          {phase.dueAt && (
            <p>
              <Time at={phase.dueAt} /> (<Distance to={phase.dueAt} />)
              {phase.isOverdue && <strong className="bad-text"> Overdue: starts at once.</strong>}
            </p>
          )}
          {planNotes(phase).map((note, at) => (
            <p key={note} className={at === 0 && isLate(phase) ? 'warn-text' : ''}>
              {note}
            </p>
          ))}
          <Steps steps={phase.steps} />
        </li>
      ))}
      {plan.onRemoval.length > 0 && (
        <li>
          <h3>When a member is removed</h3>
          <Steps steps={plan.onRemoval} />
        </li>
      )}
    </ol>
  )
}

/** Its changes wait for a window, and the first note says so. */
const isLate = ({ window }: Plan['phases'][number]): boolean => window !== null && !window.isOpen

/** `T-1 d`: the phase is due so long before the batch's time. */
const offsetText = (minutes: number): string =>
  minutes === 0 ? 'T' : `T${minutes > 0 ? '−' : '+'}${durationText(Math.abs(minutes) * MINUTE_MS)}`

const Steps = ({ steps }: { readonly steps: readonly Step[] }) => (
  <ul className="steps">
    {steps.map((step) => (
      <li key={step.name}>
        <details>
          <summary>
            <strong>{step.name}</strong> <code>{step.examples[0]?.functionName}</code>
            {step.isOwnFunction && <strong> your own function</strong>}{' '}
            <span className="quiet">
              on {step.workerId}
              {step.isPolled && ', polled'}
              {step.maxRetries > 0 && `, ${step.maxRetries} retries`}
              {step.onFailure && `, rollback ${step.onFailure}`}
              {step.when && `, only when ${step.when}`}
            </span>
            {step.examples.some(({ missing }) => missing.length > 0) && (
              <strong className="bad-text"> lacks a value</strong>
            )}
          </summary>
          {step.examples.map((example) => (
            <div key={example.memberKey} className="example">
              {example.memberKey !== null && <span className="quiet">{example.memberKey}</span>}
              {example.leftOut === null ? (
                <pre>{JSON.stringify(example.params, null, 2)}</pre>
              ) : (
                <p>Left out: {example.leftOut}.</p>
              )}
              {example.missing.length > 0 && (
                <p className="bad-text">
                  No value for {example.missing.join(', ')}: the step fails.
                </p>
              )}
            </div>
          ))}
        </details>
      </li>
    ))}
  </ul>
)
