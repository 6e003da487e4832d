// What was done and what comes: phases and steps, each with every attempt, its parameters and result, and what an error means.
import { useState } from 'react'
import { statusWord } from '../../../../src/domain/state/words.ts'
import { useReading } from '../../api/hooks.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Meaning } from '../../ui/meaning.tsx'
import { Section } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { lookOf, Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance, durationText, Time } from '../../ui/time.tsx'
import { NoReturn } from '../../undo/no-return.tsx'
import { ValueText } from './details.tsx'
import { StepActions } from './step-actions.tsx'
import {
  type Attempt,
  chaptersOf,
  comingOf,
  failedStepOf,
  isFailedStep,
  type Person,
  type PersonStep,
} from './story.ts'

export function Coming({ person }: { readonly person: Person }) {
  const coming = comingOf(person)
  if (coming.length === 0) return null
  return (
    <Section title="What comes next">
      <ol className="coming">
        {coming.map(({ phaseName, at, stepNames, noReturnStep }) => (
          <li key={phaseName}>
            <span className="coming-phase">{phaseName}</span>
            <span className="coming-at">
              {at === null ? (
                'follows at once, or when it is advanced'
              ) : (
                <>
                  <Time at={at} />{' '}
                  <span className="quiet">
                    <Distance to={at} />
                  </span>
                </>
              )}
            </span>
            <span className="quiet">{stepNames.join(' → ')}</span>
            {noReturnStep !== null && (
              <span className="coming-no-return">
                <strong>Point of no return:</strong> after {noReturnStep} an undo leaves what was
                done before.
              </span>
            )}
          </li>
        ))}
      </ol>
    </Section>
  )
}

interface TimelineProps {
  readonly person: Person
  /** Steps that were the point of no return. */
  readonly noReturn: ReadonlySet<number>
}
export function Timeline({ person, noReturn }: TimelineProps) {
  const chapters = chaptersOf(person)
  return (
    <Section title="What was done">
      {chapters.length === 0 ? (
        <Empty title="Nothing was done yet">
          <p>The steps of this person appear when their first phase starts.</p>
        </Empty>
      ) : (
        chapters.map(({ key, title, steps }) => (
          <div key={key} className="chapter">
            <h3>{title}</h3>
            <ol className="steps">
              {steps.map((step) => (
                <li key={step.id}>
                  <Step step={step} person={person} />
                  {noReturn.has(step.id) && (
                    <div className="no-return">
                      <NoReturn step={step.stepName} stays="above" />
                    </div>
                  )}
                </li>
              ))}
            </ol>
          </div>
        ))
      )}
    </Section>
  )
}

interface StepProps {
  readonly step: PersonStep
  readonly person: Person
}
/** Why it has no job here; the function is chosen when the job is sent. */
const NOT_SENT: Readonly<Record<string, string>> = {
  succeeded: 'passed in another wave, not sent to',
  skipped: 'skipped, not sent to',
  cancelled: 'cancelled, never sent to',
}

function Step({ step, person }: StepProps) {
  const [isOpen, setOpen] = useState(isFailedStep(step))
  const attempts = person.attempts.filter(({ stepId }) => stepId === step.id)
  const status = step.waitsFor === 'retry' ? 'pending' : step.status
  return (
    <details
      className="step"
      data-look={lookOf(status)}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Status status={status} text={statusWord('step', step.status).replaceAll('_', ' ')} />
        <span className="step-name">{step.stepName}</span>
        <span className="quiet step-function">
          {step.functionName === null
            ? `${NOT_SENT[step.status] ?? 'for'} `
            : `${step.functionName} on `}
          {step.workerId}
        </span>
        <span className="step-when">
          <When step={step} />
        </span>
      </summary>
      {isOpen && <StepBody step={step} attempts={attempts} person={person} />}
    </details>
  )
}

function When({ step }: { readonly step: PersonStep }) {
  const { waitsFor, wakeAt, completedAt, dispatchedAt } = step
  if (waitsFor === 'slot') return <>waits for a free slot</>
  if (waitsFor === 'window')
    return (
      <>
        waits for the change window, which opens <Time at={wakeAt} />
      </>
    )
  if (waitsFor === 'retry')
    return (
      <>
        next attempt <Time at={wakeAt} />
      </>
    )
  if (waitsFor === 'poll')
    return (
      <>
        next poll <Time at={wakeAt} />
      </>
    )
  if (waitsFor === 'job')
    return (
      <>
        since <Time at={dispatchedAt} />
      </>
    )
  return <Time at={completedAt} />
}

function StepBody({
  step,
  attempts,
  person,
}: StepProps & { readonly attempts: readonly Attempt[] }) {
  const { mayList } = useSession()
  return (
    <div className="step-body">
      {step.errorMessage && <p className="step-error">{step.errorMessage}</p>}
      {step.meaning && isFailedStep(step) && step.id !== failedStepOf(person)?.id && (
        <Meaning meaning={step.meaning} />
      )}
      {step.pollCount > 0 && (
        <p>
          Polled {step.pollCount} times, last at <Time at={step.lastPolledAt} />
          {step.pollSaid && (
            <>
              : <Sentence text={step.pollSaid} />
            </>
          )}
        </p>
      )}
      <StepActions step={step} person={person} />
      {attempts.length > 0 && <Attempts attempts={attempts} stepName={step.stepName} />}
      {mayList && <Parameters stepId={step.id} />}
    </div>
  )
}

interface AttemptsProps {
  readonly attempts: readonly Attempt[]
  readonly stepName: string
}
const Attempts = ({ attempts, stepName }: AttemptsProps) => (
  <Table
    caption={`Attempts of ${stepName}, newest first`}
    rows={attempts}
    rowKey={({ jobId }) => jobId}
    columns={[
      {
        name: 'Attempt',
        cell: ({ attempt, poll }) => `${attempt + 1}${poll > 0 ? `, poll ${poll}` : ''}`,
      },
      { name: 'Sent', cell: ({ sentAt }) => <Time at={sentAt} /> },
      {
        name: 'Took',
        cell: (one) =>
          durationText(one.durationMs ?? Date.parse(one.settledAt) - Date.parse(one.sentAt)),
      },
      { name: 'Worker', cell: ({ workerId }) => workerId },
      { name: 'Outcome', cell: ({ outcome }) => <Status status={outcome} /> },
      {
        name: 'Error or result',
        cell: ({ error, result }) =>
          error ?? (result === null ? '–' : <ValueText value={result} />),
      },
    ]}
  />
)

/** Read when the step is opened: a page with all parameters of all steps would be long. */
function Parameters({ stepId }: { readonly stepId: number }) {
  const reading = useReading('GET /api/steps/{stepId}', { params: { stepId } })
  return (
    <Loaded reading={reading} what="the parameters">
      {({ step: { params, result } }) => (
        <dl className="values">
          <div>
            <dt>Parameters</dt>
            <dd>{params === null ? '–' : <ValueText value={params} />}</dd>
          </div>
          {result !== null && (
            <div>
              <dt>Result</dt>
              <dd>
                <ValueText value={result} />
              </dd>
            </div>
          )}
        </dl>
      )}
    </Loaded>
  )
}
