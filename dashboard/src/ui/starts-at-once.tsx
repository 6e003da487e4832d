// What a change starts immediately, as a list for the dialog before it.
import { type LostApproval, lostApprovalTexts } from '../../../src/domain/plan/lost-approvals.ts'
import type { Answer } from '../api/routes.ts'
import { countText } from './page.tsx'
import { Time } from './time.tsx'

type Starts = Answer<'POST /api/holds/resume'>['startsAtOnce']

export const peopleText = (count: number): string =>
  `${countText(count)} ${count === 1 ? 'person' : 'people'}`

/** Approvals that the change makes void. */
export const ApprovalsLost = ({ lost }: { readonly lost: readonly LostApproval[] }) =>
  lostApprovalTexts(lost).map((text) => (
    <p key={text} className="approval-lost">
      <strong>{text}</strong>
    </p>
  ))

export function StartsAtOnce({ starts: { phases, steps } }: { readonly starts: Starts }) {
  if (phases.length + steps.length === 0) return <p className="quiet">Nothing starts at once.</p>
  return (
    <>
      <h3>Starts at once</h3>
      <ul className="tight-list">
        {phases.map(({ batchId, phaseName, dueAt, isOverdue, people, waitsFor }) => (
          <li key={`${batchId} ${phaseName}`}>
            Phase <strong>{phaseName}</strong> of{' '}
            {batchId === null ? 'the new batch' : `batch ${batchId}`}, {peopleText(people)}
            {isOverdue && dueAt !== null && (
              <>
                , due <Time at={dueAt} />
              </>
            )}
            {waitsFor === 'init' && ', after init'}
            {waitsFor === 'resume' && ', once its batch resumes'}
          </li>
        ))}
        {steps.map(({ batchId, phaseName, stepName, people }) => (
          <li key={`${batchId} ${phaseName} ${stepName}`}>
            Step <strong>{stepName}</strong> of batch {batchId}, {peopleText(people)}
          </li>
        ))}
      </ul>
    </>
  )
}
