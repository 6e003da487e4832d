// What if: rehearses the batch as it is and with other slots or fewer people. Nothing live is touched; the rehearsal's screen shows the
// progress and the comparison.
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useChange } from '../../api/hooks.ts'
import { Decision } from '../../ui/decision.tsx'
import type { Summary } from './batch.tsx'

interface WhatIfProps {
  readonly batch: Summary['batch']
  readonly onClose: () => void
}

export function WhatIf({ batch, onClose }: WhatIfProps) {
  const [, navigate] = useLocation()
  const [slots, setSlots] = useState('')
  const [people, setPeople] = useState('')
  const [without, setWithout] = useState('')
  const begin = useChange('POST /api/batches/{batchId}/what-if')
  const keys = without.split(/[\s,;]+/).filter((key) => key !== '')
  const body = {
    ...(slots !== '' && { slots: Number(slots) }),
    ...(people !== '' && { people: Number(people) }),
    ...(keys.length > 0 && { without: keys }),
  }
  return (
    <Decision
      title={`What if … batch ${batch.id}`}
      verb="Rehearse it"
      reason="none"
      isReady={Object.keys(body).length > 0}
      isBusy={begin.isPending}
      error={begin.error}
      onClose={onClose}
      onConfirm={() =>
        begin.mutate(
          { params: { batchId: batch.id }, body },
          { onSuccess: ({ id }) => navigate(`/rehearse/${id}`) },
        )
      }
    >
      <p>
        The batch is rehearsed twice, as it is and with this change, on simulated tenants. Nothing
        live is touched.
      </p>
      <NumberField name="Slots of every worker" value={slots} onChange={setSlots} />
      <NumberField name="People, the first of the batch" value={people} onChange={setPeople} />
      <label className="field">
        People who stay out
        <input
          value={without}
          placeholder="ada@fabrikam.com, ben@fabrikam.com"
          onChange={({ target }) => setWithout(target.value)}
        />
      </label>
    </Decision>
  )
}

interface NumberFieldProps {
  readonly name: string
  readonly value: string
  readonly onChange: (value: string) => void
}
const NumberField = ({ name, value, onChange }: NumberFieldProps) => (
  <label className="field">
    {name}
    <input
      type="number"
      min={1}
      value={value}
      placeholder="as it is"
      onChange={({ target }) => onChange(target.value)}
    />
  </label>
)
