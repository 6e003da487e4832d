// Asks the data source now and changes nothing: rows, batches, problems, and what the next tick would do.
import { useChange } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, ErrorNote, Loading } from '../../ui/feedback.tsx'
import { countText, Figure, Section } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import type { TabProps } from './runbook.tsx'

type Preview = Answer<'POST /api/runbooks/{name}/query/preview'>

export const QueryPreview = ({ runbook }: TabProps) => <PreviewOf name={runbook.name} />

/** Of the active version, or of an unpublished text. */
export function PreviewOf({ name, yaml }: { readonly name: string; readonly yaml?: string }) {
  const preview = useChange('POST /api/runbooks/{name}/query/preview')
  const ask = () =>
    preview.mutate({ params: { name }, body: yaml === undefined ? {} : { yamlContent: yaml } })
  return (
    <Section
      title="Query preview"
      actions={
        <Button kind="primary" onClick={ask} disabled={preview.isPending}>
          {preview.isPending ? 'Asking …' : 'Query now'}
        </Button>
      }
    >
      {preview.error && <ErrorNote error={preview.error} onRetry={ask} />}
      {preview.isPending && <Loading what="the rows" />}
      {preview.data && <Found preview={preview.data} />}
      {preview.isIdle && (
        <Empty title="The source was not asked yet">
          <p>“Query now” runs the query, shows its rows, and changes nothing.</p>
        </Empty>
      )}
    </Section>
  )
}

function Found({ preview }: { readonly preview: Preview }) {
  const { rowCount, groupCount, problemCount, durationMs, nextTick, columns, sample } = preview
  return (
    <div className="preview">
      <div className="figures">
        <Figure name="rows" value={rowCount} />
        <Figure name="batches" value={groupCount} />
        <Figure name="problems" value={problemCount} {...(problemCount > 0 && { look: 'bad' })} />
        <Figure name="milliseconds" value={Math.round(durationMs)} />
      </div>
      <h3>What the next tick would do</h3>
      <NextTick rowCount={rowCount} nextTick={nextTick} />
      {preview.problems.length > 0 && (
        <>
          <h3>Problems</h3>
          <Table
            caption="Rows that cannot be used"
            rows={preview.problems.map((one, at) => ({ ...one, at }))}
            rowKey={({ at }) => at}
            columns={[
              { name: 'Kind', cell: ({ kind }) => kind },
              { name: 'Key', cell: ({ key }) => key ?? '–' },
              { name: 'Column', cell: ({ column }) => column ?? '–' },
              { name: 'What is wrong', cell: ({ reason }) => reason },
            ]}
          />
        </>
      )}
      {preview.batchGroups.length > 0 && (
        <>
          <h3>Batches</h3>
          <Table
            caption="Batches in the source"
            rows={preview.batchGroups}
            rowKey={({ batchTime }) => batchTime ?? ''}
            columns={[
              { name: 'Time', cell: ({ batchTime }) => <Time at={batchTime} none="at once" /> },
              { name: 'Members', isNumber: true, cell: ({ memberCount }) => memberCount },
            ]}
          />
        </>
      )}
      <h3>First rows</h3>
      {preview.warnings.map((warning) => (
        <p key={warning} className="quiet">
          {warning}
        </p>
      ))}
      <Table
        caption="First rows"
        rows={sample.map((row, at) => ({ row, at }))}
        rowKey={({ at }) => at}
        columns={columns.map(({ name }) => ({
          name,
          cell: ({ row }: { row: (typeof sample)[number] }) => cellText(row[name]),
        }))}
      />
    </div>
  )
}

const cellText = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : value === null || value === undefined
      ? ''
      : JSON.stringify(value)

interface NextTickProps {
  readonly rowCount: number
  readonly nextTick: Preview['nextTick']
}
export function NextTick({ rowCount, nextTick }: NextTickProps) {
  const { newBatches, joiners, rejoiners, moves, leavers, missing, reviews, holds } = nextTick
  const counts: readonly (readonly [count: number, what: string])[] = [
    [newBatches.total, 'new batches'],
    [joiners.total, 'members join a batch'],
    [rejoiners.total, 'members come back'],
    [moves.total, 'members move to another batch'],
    [leavers.total, 'members leave'],
    [missing, 'members are missing for the first time'],
    [reviews.total, 'changes wait for a review'],
    [holds.length, 'batches are held'],
  ]
  const shown = counts.filter(([count]) => count > 0)
  return (
    <ul className="effects">
      <li>{countText(rowCount)} rows in the source</li>
      {shown.map(([count, what]) => (
        <li key={what}>
          <strong>{countText(count)}</strong> {what}
        </li>
      ))}
      {shown.length === 0 && <li>Nothing changes.</li>}
    </ul>
  )
}
