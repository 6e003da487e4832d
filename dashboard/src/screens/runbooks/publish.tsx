// Publishing: a dry run shows what the text changes for every unfinished batch; only the confirmation publishes.
import { useEffect, useState } from 'react'
import type { RunbookProblem } from '../../../../src/domain/runbook/read.ts'
import { phaseWindowText } from '../../../../src/domain/windows/window-text.ts'
import { useChange } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Decision } from '../../ui/decision.tsx'
import { Loading } from '../../ui/feedback.tsx'
import { countText } from '../../ui/page.tsx'
import { ApprovalsLost } from '../../ui/starts-at-once.tsx'
import { Time } from '../../ui/time.tsx'
import type { Checked } from './editor/editor.tsx'

type Published = Answer<'POST /api/runbooks'>
type Impact = Published['impact']

/** The one error that a person may overrule. */
const isMissingParameter = ({ code }: RunbookProblem) => code === 'MISSING_PARAMETER'
const errorsIn = (problems: readonly RunbookProblem[]) =>
  problems.filter(({ severity }) => severity === 'error')

export const mayPublish = (checked: Checked | null): boolean =>
  checked !== null && errorsIn(checked.problems).every(isMissingParameter)

interface PublishDialogProps {
  readonly name: string | null
  readonly text: string
  readonly problems: readonly RunbookProblem[]
  /** Of the version that the person started from. */
  readonly etag: string | null
  readonly onClose: () => void
  readonly onPublished: (name: string) => void
}

export function PublishDialog(props: PublishDialogProps) {
  const { name, text, problems, etag, onClose, onPublished } = props
  const [options, setOptions] = useState({ overdue: false, rerunInit: false, force: false })
  const preview = useChange('POST /api/runbooks')
  const publish = useChange('POST /api/runbooks')
  const lacks = problems.some(isMissingParameter)
  const isAsked = !lacks || options.force
  const body = {
    ...(name !== null && { name }),
    yamlContent: text,
    overdueBehavior: options.overdue ? ('rerun' as const) : ('ignore' as const),
    rerunInit: options.rerunInit,
    force: options.force,
  }
  const asked = JSON.stringify(body)
  const { mutate } = preview
  useEffect(() => {
    const given = { ...(JSON.parse(asked) as typeof body), dryRun: true }
    if (isAsked) mutate({ body: given, options: { ifMatch: etag } })
  }, [mutate, asked, isAsked, etag])
  const { data } = preview
  const option = (key: keyof typeof options, label: string) => (
    <label className="check">
      <input
        type="checkbox"
        checked={options[key]}
        onChange={({ target }) => setOptions({ ...options, [key]: target.checked })}
      />{' '}
      {label}
    </label>
  )
  return (
    <Decision
      title={data ? `Publish version ${data.version} of ${data.name}` : 'Publish'}
      verb="Publish"
      isDanger={(data?.impact.startsAtOnce.phaseCount ?? 0) > 0}
      reason={(data?.impact.batches ?? 0) > 0 ? 'required' : 'optional'}
      isReady={data?.isNew === true && isAsked && !preview.isPending}
      isBusy={publish.isPending}
      error={publish.error ?? preview.error}
      onClose={onClose}
      onConfirm={(reason) =>
        publish.mutate(
          { body: { ...body, ...(reason && { reason }) }, options: { ifMatch: etag } },
          { onSuccess: (done) => onPublished(done.name) },
        )
      }
    >
      {lacks && option('force', 'Publish although a step lacks a required parameter')}
      {name !== null && option('overdue', 'Run phases whose new time has passed (else skipped)')}
      {name !== null && option('rerunInit', 'Run init steps again in batches that have run them')}
      {preview.isPending && <Loading what="the impact" lines={3} />}
      {data && !preview.isPending && <ImpactOf published={data} />}
    </Decision>
  )
}

function ImpactOf({
  published: { impact, isNew, version, warnings },
}: {
  readonly published: Published
}) {
  if (!isNew) return <p>The active version already has this text and these options.</p>
  const { batches, membersActive } = impact
  return (
    <div className="impact">
      {batches === 0 ? (
        <p>No batch is unfinished: nothing changes for anyone now.</p>
      ) : (
        <p>
          <strong>
            {countText(batches)} unfinished {batches === 1 ? 'batch takes' : 'batches take'} version{' '}
            {version}
          </strong>{' '}
          with {countText(membersActive)} active {membersActive === 1 ? 'member' : 'members'} (
          {outcomesText(impact)}).
        </p>
      )}
      <Starts impact={impact} />
      <ApprovalsLost lost={impact.approvalsLost} />
      {impact.listed.map((batch) => (
        <details key={batch.batchId} open={impact.listed.length === 1}>
          <summary>
            Batch {batch.batchId} ({batch.status}, from version {batch.fromVersion},{' '}
            {countText(batch.membersActive)} active)
          </summary>
          <ul>
            {batch.phases.map((phase) => (
              <li key={`${phase.name} ${phase.outcome}`}>
                <strong>{phase.name}</strong> {OUTCOMES[phase.outcome]}
                {phase.dueAt && (
                  <>
                    , due <Time at={phase.dueAt} />
                  </>
                )}
                {phase.window && (
                  <span className={phase.window.isOpen ? 'quiet' : 'warn-text'}>
                    ; {phaseWindowText(phase.window, null)}
                  </span>
                )}
                {phase.dueAt === null && <span className="quiet"> {phase.because}</span>}
              </li>
            ))}
            {batch.lacking.map(({ variable, members }) => (
              <li key={variable} className="bad-text">
                {countText(members)} members have no value for <code>{variable}</code>.
              </li>
            ))}
          </ul>
        </details>
      ))}
      {batches > impact.listed.length && (
        <p className="quiet">
          The first {impact.listed.length} of {countText(batches)}.
        </p>
      )}
      {[...impact.warnings, ...warnings.map(({ line, message }) => `Line ${line}: ${message}`)].map(
        (warning) => (
          <p key={warning} className="warn-text">
            {warning}
          </p>
        ),
      )}
    </div>
  )
}

const OUTCOMES = {
  pending: 'runs as the new version says',
  skipped: 'is skipped',
  carried_over: 'keeps what was done',
  rerun: 'runs again',
  dropped: 'is dropped',
} as const

function outcomesText({ phases }: Impact): string {
  const parts = Object.entries(phases)
    .filter(([, count]) => (count ?? 0) > 0)
    .map(([outcome, count]) => `${count} ${outcome.replaceAll('_', ' ')}`)
  return parts.length === 0 ? 'no phase changes' : `phases: ${parts.join(', ')}`
}

function Starts({ impact: { startsAtOnce } }: { readonly impact: Impact }) {
  if (startsAtOnce.phaseCount === 0) return null
  return (
    <div className="notice" data-look="bad">
      <strong>Starts at once:</strong>
      <ul>
        {startsAtOnce.phases.map(({ batchId, phaseName, people, stepNames }) => (
          <li key={`${batchId} ${phaseName}`}>
            phase {phaseName} of batch {batchId ?? '–'} for {countText(people)} members:{' '}
            {stepNames.join(', ')}
          </li>
        ))}
      </ul>
    </div>
  )
}
