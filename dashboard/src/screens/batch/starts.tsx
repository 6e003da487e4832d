// What a change starts at once.
import type { Answer } from '../../api/routes.ts'
import { countText } from '../../ui/page.tsx'

type StartsAtOnce = Answer<'POST /api/batches/{batchId}/resume'>['startsAtOnce']

export function Starts({ starts: { phases, steps } }: { readonly starts: StartsAtOnce }) {
  if (phases.length + steps.length === 0) return <p>Nothing starts at once.</p>
  return (
    <>
      <p>This starts at once:</p>
      <ul>
        {phases.map(({ phaseName, people, stepNames, isOverdue }) => (
          <li key={phaseName}>
            phase <strong>{phaseName}</strong> for {countText(people)} people (
            {stepNames.join(', ')}){isOverdue && ', which is late'}
          </li>
        ))}
        {steps.map(({ phaseName, stepName, people }) => (
          <li key={`${phaseName}/${stepName}`}>
            step <strong>{stepName}</strong> of {phaseName ?? 'init'} for {countText(people)} people
          </li>
        ))}
      </ul>
    </>
  )
}
