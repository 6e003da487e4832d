// Tick now: what the tick would do, asked from the source itself; then the tick, and what it did.
import { useState } from 'react'
import { useChange, usePreview } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Loading } from '../../ui/feedback.tsx'
import { countText } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'

type Report = Answer<'POST /api/runbooks/{name}/ticks'>
type Preview = Answer<'POST /api/runbooks/{name}/query/preview'>

interface TickButtonProps {
  readonly source: { readonly runbookName: string; readonly isAutomated: boolean }
}

export function TickButton({ source: { runbookName, isAutomated } }: TickButtonProps) {
  const { mayChange } = useSession()
  const [isAsked, setAsked] = useState(false)
  const [report, setReport] = useState<Report | null>(null)
  if (!mayChange || !isAutomated) return null
  return (
    <>
      <Button onClick={() => setAsked(true)} aria-label={`Tick now: ${runbookName}`}>
        Tick now
      </Button>
      {report && <ReportText report={report} />}
      {isAsked && (
        <TickDialog
          runbookName={runbookName}
          onClose={() => setAsked(false)}
          onReport={setReport}
        />
      )}
    </>
  )
}

interface TickDialogProps {
  readonly runbookName: string
  readonly onClose: () => void
  readonly onReport: (report: Report) => void
}

function TickDialog({ runbookName, onClose, onReport }: TickDialogProps) {
  const params = { name: runbookName }
  const preview = usePreview('POST /api/runbooks/{name}/query/preview', { params, body: {} })
  const tick = useChange('POST /api/runbooks/{name}/ticks')
  return (
    <Decision
      title={`Tick ${runbookName} now`}
      verb="Tick now"
      reason="optional"
      isReady={!preview.isPending}
      isBusy={tick.isPending}
      error={tick.error}
      onClose={onClose}
      onConfirm={(reason) =>
        tick.mutate(
          { params, body: reason ? { reason } : {} },
          {
            onSuccess: (report) => {
              onReport(report)
              onClose()
            },
          },
        )
      }
    >
      {preview.isPending && <Loading what="the preview" lines={3} />}
      {preview.error && (
        <p>
          There is no preview: {preview.error.message} A tick would most likely fail too, and change
          nothing.
        </p>
      )}
      {preview.data && <Changes preview={preview.data} />}
    </Decision>
  )
}

function Changes({ preview: { rowCount, problemCount, nextTick } }: { readonly preview: Preview }) {
  const { newBatches, joiners, rejoiners, moves, leavers, missing, refreshed, reviews, holds } =
    nextTick
  const lines: readonly (readonly [count: number, text: string])[] = [
    [newBatches.total, 'new batches'],
    [joiners.total, 'people join a batch'],
    [rejoiners.total, 'people join again'],
    [moves.total, 'people move to another batch'],
    [leavers.total, 'people leave their batch'],
    [missing, 'people are missing for the first time; a second tick without them lets them leave'],
    [refreshed, 'people get new data'],
    [reviews.total, 'changes will wait for a person'],
    [holds.length, 'batches will be held'],
  ]
  const shown = lines.filter(([count]) => count > 0)
  return (
    <>
      <p>
        The source has {countText(rowCount)} {rowCount === 1 ? 'row' : 'rows'}
        {problemCount > 0 && `, ${countText(problemCount)} of them with a problem`}.
      </p>
      {shown.length === 0 ? (
        <p>A tick would change nothing.</p>
      ) : (
        <>
          <h3>A tick would change</h3>
          <ul className="tight-list">
            {shown.map(([count, text]) => (
              <li key={text}>
                <strong>{countText(count)}</strong> {text}
              </li>
            ))}
          </ul>
          <Examples names={leavers.first.map(({ key }) => key)} what="Leave" />
          <Examples names={joiners.first.map(({ key }) => key)} what="Join" />
        </>
      )}
    </>
  )
}

const NAMED_MAX = 5
const Examples = ({ names, what }: { readonly names: readonly string[]; readonly what: string }) =>
  names.length === 0 ? null : (
    <p className="quiet">
      {what}: {names.slice(0, NAMED_MAX).join(', ')}
      {names.length > NAMED_MAX && ' …'}
    </p>
  )

function ReportText({ report: { outcome, counts, error, needs } }: { readonly report: Report }) {
  return (
    <div role="status" className="quiet tick-report">
      <Status status={outcome} /> {error ?? countsText(counts)}
      {needs.map(({ text }) => (
        <div key={text}>{text}.</div>
      ))}
    </div>
  )
}

/** `created` is 2 and `joined` 3: `2 created, 3 joined`. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  const shown = Object.entries(counts).filter(([, count]) => count > 0)
  if (shown.length === 0) return 'nothing changed'
  return shown.map(([kind, count]) => `${countText(count)} ${inWords(kind)}`).join(', ')
}

/** `newBatches`: `new batches`. */
const inWords = (kind: string): string =>
  kind.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
