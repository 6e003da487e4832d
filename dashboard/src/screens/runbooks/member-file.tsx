// Member files: check a CSV file first and show every fault with row and column; then create a manual batch or add to one.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Link } from 'wouter'
import { type ApiError, client } from '../../api/call.ts'
import { useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { ErrorNote, Loading } from '../../ui/feedback.tsx'
import { countText, Section } from '../../ui/page.tsx'
import { ApprovalsLost } from '../../ui/starts-at-once.tsx'
import { Table } from '../../ui/table.tsx'
import type { TabProps } from './runbook.tsx'

const BATCHES_OFFERED = 100

type Created = Answer<'POST /api/batches'>
type Added = Answer<'POST /api/batches/{batchId}/members'>

interface Upload {
  readonly runbookName: string
  /** Null: a new batch. */
  readonly batchId: number | null
  readonly file: File
  readonly reason?: string
  readonly dryRun: boolean
}

async function send({
  runbookName,
  batchId,
  file,
  reason,
  dryRun,
}: Upload): Promise<Created | Added> {
  const form = new FormData()
  if (batchId === null) form.append('runbookName', runbookName)
  if (reason) form.append('reason', reason)
  form.append('file', file)
  const query = { dryRun }
  return batchId === null
    ? client.call('POST /api/batches', { query, body: form })
    : client.call('POST /api/batches/{batchId}/members', {
        params: { batchId },
        query,
        body: form,
      })
}

function useUpload() {
  const shown = useQueryClient()
  return useMutation<Created | Added, ApiError, Upload>({
    mutationFn: send,
    onSettled: (_, __, { dryRun }) => (dryRun ? undefined : shown.invalidateQueries()),
  })
}

export function MemberFile({ runbook: { name } }: TabProps) {
  const check = useUpload()
  const [file, setFile] = useState<File | null>(null)
  const [batchId, setBatchId] = useState<number | null>(null)
  const [isAsked, setAsked] = useState(false)
  const [done, setDone] = useState<Created | Added | null>(null)
  const choose = (next: File | null, batch: number | null) => {
    setFile(next)
    setBatchId(batch)
    setDone(null)
    check.reset()
    if (next) check.mutate({ runbookName: name, batchId: batch, file: next, dryRun: true })
  }
  return (
    <Section title="Member file" actions={<TemplateButton name={name} />}>
      <p className="quiet">
        A CSV file with a row per member. It is checked as a whole first; a file with a fault
        changes nothing.
      </p>
      <Chooser
        name={name}
        batchId={batchId}
        onBatch={(next) => choose(file, next)}
        onFile={(next) => choose(next, batchId)}
      />
      {check.isPending && <Loading what="the check of the file" lines={3} />}
      {check.error && <Faults error={check.error} />}
      {check.data && !done && <Ready checked={check.data} onGo={() => setAsked(true)} />}
      {done && <Done done={done} />}
      {isAsked && file && (
        <Send
          upload={{ runbookName: name, batchId, file, dryRun: false }}
          onClose={() => setAsked(false)}
          onDone={(answer) => {
            setDone(answer)
            setAsked(false)
          }}
        />
      )}
    </Section>
  )
}

interface ChooserProps {
  readonly name: string
  readonly batchId: number | null
  readonly onBatch: (batchId: number | null) => void
  readonly onFile: (file: File | null) => void
}
function Chooser({ name, batchId, onBatch, onFile }: ChooserProps) {
  const id = useId()
  const { data } = useReading('GET /api/batches', {
    query: {
      runbook: name,
      manual: 'true',
      status: 'detected,active,init_dispatched',
      limit: BATCHES_OFFERED,
    },
  })
  return (
    <div className="inline-form">
      <label htmlFor={`${id}-to`}>Members go to</label>
      <select
        id={`${id}-to`}
        value={batchId ?? ''}
        onChange={({ target }) => onBatch(target.value === '' ? null : Number(target.value))}
      >
        <option value="">a new batch</option>
        {data?.batches.map((batch) => (
          <option key={batch.id} value={batch.id}>
            batch {batch.id} ({countText(batch.memberCount)} members)
          </option>
        ))}
      </select>
      <label htmlFor={`${id}-file`}>File</label>
      <input
        id={`${id}-file`}
        type="file"
        accept=".csv,text/csv"
        onChange={({ target }) => onFile(target.files?.[0] ?? null)}
      />
    </div>
  )
}

function Faults({ error }: { readonly error: ApiError }) {
  const { faults, faultCount } = error
  if (!faults.some(({ row }) => row !== undefined)) return <ErrorNote error={error} />
  return (
    <div role="alert">
      <p className="bad-text">
        <strong>
          The file has {countText(faultCount)} {faultCount === 1 ? 'fault' : 'faults'}. Nothing was
          changed.
        </strong>{' '}
        Correct them and choose the file again.
      </p>
      <Table
        caption="Faults of the file"
        rows={faults
          .map((fault, at) => ({ ...fault, at }))
          .toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0))}
        rowKey={({ at }) => at}
        columns={[
          { name: 'Row', isNumber: true, cell: ({ row }) => row },
          { name: 'Column', cell: ({ column }) => column || '–' },
          { name: 'What is wrong', cell: ({ message }) => message },
        ]}
      />
      {faultCount > faults.length && (
        <p className="quiet">
          The first {faults.length} of {countText(faultCount)}.
        </p>
      )}
    </div>
  )
}

interface ReadyProps {
  readonly checked: Created | Added
  readonly onGo: () => void
}
function Ready({ checked, onGo }: ReadyProps) {
  return (
    <div className="notice" data-look="good">
      <p>
        <strong>✓ The file is good.</strong>{' '}
        {'memberCount' in checked
          ? `A manual batch with ${countText(checked.memberCount)} members; it waits to be advanced through ${checked.availablePhases.join(', ')}.`
          : `${countText(checked.addedCount)} members join, ${countText(checked.takenBackCount)} come back, ${countText(checked.skippedCount)} are skipped.`}
      </p>
      {'approvalsLost' in checked && <ApprovalsLost lost={checked.approvalsLost} />}
      {checked.warnings.map((warning) => (
        <p key={warning} className="warn-text">
          {warning}
        </p>
      ))}
      <Button kind="primary" onClick={onGo}>
        {'memberCount' in checked ? 'Create batch …' : 'Add members …'}
      </Button>
    </div>
  )
}

interface SendProps {
  readonly upload: Upload
  readonly onClose: () => void
  readonly onDone: (answer: Created | Added) => void
}
function Send({ upload, onClose, onDone }: SendProps) {
  const sent = useUpload()
  const isNew = upload.batchId === null
  return (
    <Decision
      title={isNew ? 'Create a batch' : `Add members to batch ${upload.batchId}`}
      verb={isNew ? 'Create batch' : 'Add members'}
      reason="optional"
      isBusy={sent.isPending}
      error={sent.error}
      onClose={onClose}
      onConfirm={(reason) => sent.mutate({ ...upload, reason }, { onSuccess: onDone })}
    >
      <p>
        {isNew
          ? `The members of ${upload.file.name} become a manual batch. No job starts before someone advances it.`
          : `The members of ${upload.file.name} join and catch up on phases that have started.`}
      </p>
    </Decision>
  )
}

const Done = ({ done }: { readonly done: Created | Added }) => (
  <div className="notice" data-look="good" role="status">
    ✓ {'memberCount' in done ? 'Created' : 'Added to'}{' '}
    <Link href={`/batches/${done.batchId}`}>batch {done.batchId}</Link>
  </div>
)

/** A file of the runbook's columns with a sample row. */
function TemplateButton({ name }: { readonly name: string }) {
  const fetched = useMutation<void, ApiError>({
    mutationFn: async () => {
      const answer = await client.raw(
        'GET /api/runbooks/{name}/template',
        { params: { name } },
        { accept: 'text/csv' },
      )
      const address = URL.createObjectURL(await answer.blob())
      const link = document.createElement('a')
      link.href = address
      link.download = `${name}_template.csv`
      link.click()
      URL.revokeObjectURL(address)
    },
  })
  return (
    <Button onClick={() => fetched.mutate()} disabled={fetched.isPending}>
      {fetched.error ? 'Template failed: try again' : 'Download template'}
    </Button>
  )
}
