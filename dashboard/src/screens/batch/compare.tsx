// Two waves side by side: people, times, pace, causes. Each was planned before it went: the same rows say both.
import { useSearchParams } from 'wouter'
import { waveFacts } from '../../../../src/domain/plan/wave-facts.ts'
import { statesText } from '../../../../src/domain/state/person-state.ts'
import { useReading } from '../../api/hooks.ts'
import { Loaded } from '../../ui/feedback.tsx'
import { Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Table } from '../../ui/table.tsx'
import { timeText } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'

const WAVES_MAX = 200

/** The other wave stands in the address. */
export function Compare({ summary }: { readonly summary: Summary }) {
  const [params, setParams] = useSearchParams()
  const other = params.get('with') ?? ''
  const { id, runbookName } = summary.batch
  const reading = useReading('GET /api/batches', {
    query: { runbook: runbookName, sort: 'start_latest', limit: WAVES_MAX },
  })
  const waves = reading.data?.batches.filter((one) => one.id !== id) ?? []
  if (waves.length === 0) return null
  return (
    <Section title="Comparison">
      <label className="field">
        Compare with
        <select
          value={other}
          onChange={({ target }) => setParams(target.value === '' ? {} : { with: target.value })}
        >
          <option value="">no other wave</option>
          {waves.map((one) => (
            <option key={one.id} value={one.id}>
              {one.batchStartTime === null ? 'by hand' : timeText(one.batchStartTime)}, batch{' '}
              {one.id}: {statesText(one.members)}
            </option>
          ))}
        </select>
      </label>
      {other !== '' && <SideBySide summary={summary} otherId={Number(other)} />}
    </Section>
  )
}

interface SideBySideProps {
  readonly summary: Summary
  readonly otherId: number
}
function SideBySide({ summary, otherId }: SideBySideProps) {
  const other = useReading('GET /api/batches/{batchId}/summary', { params: { batchId: otherId } })
  const own = useReading('GET /api/batches/{batchId}/failures', {
    params: { batchId: summary.batch.id },
  })
  const others = useReading('GET /api/batches/{batchId}/failures', {
    params: { batchId: otherId },
  })
  return (
    <Loaded reading={other} what={`batch ${otherId}`}>
      {(found) => {
        const facts = [
          waveFacts({ ...summary, groups: own.data?.groups ?? [] }),
          waveFacts({ ...found, groups: others.data?.groups ?? [] }),
        ]
        const cell = (at: number) => (fact: string) => (
          <TextWithTimes text={facts[at]!.get(fact) ?? '–'} />
        )
        return (
          <Table
            caption="Waves side by side"
            rows={[...new Set(facts.flatMap((one) => [...one.keys()]))]}
            rowKey={(fact) => fact}
            columns={[
              { name: 'Fact', cell: (fact: string) => fact },
              { name: `Batch ${summary.batch.id}`, cell: cell(0) },
              { name: `Batch ${otherId}`, cell: cell(1) },
            ]}
          />
        )
      }}
    </Loaded>
  )
}
