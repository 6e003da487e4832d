// The plan of an undo, in its order: each kind of change once, with the number of people, what stays and why.
import { UNDO_WORDS } from '../../../src/domain/state/undo-states.ts'
import type { Answer } from '../api/routes.ts'
import { countText } from '../ui/page.tsx'
import { NoReturn } from './no-return.tsx'

type Planned = Answer<'POST /api/batches/{batchId}/members/undo'>['effects'][number]

interface UndoPlanProps {
  readonly effects: readonly Planned[]
  /** Of several people: what is taken back comes first, counted, and then what stays. */
  readonly isCounted: boolean
}
export function UndoPlan({ effects, isCounted }: UndoPlanProps) {
  if (effects.length === 0) return null
  if (!isCounted) return <PlanList effects={effects} isCounted={false} />
  const [due, rest] = [true, false].map((isDue) =>
    effects.filter(({ state }) => (state === 'to_undo') === isDue),
  )
  return (
    <>
      {due!.length > 0 && <p>Taken back, for each person the last change first:</p>}
      <PlanList effects={due!} isCounted />
      {rest!.length > 0 && <p>Left as it is:</p>}
      <PlanList effects={rest!} isCounted />
    </>
  )
}

const PlanList = ({ effects, isCounted }: UndoPlanProps) => (
  <ol className="undo-plan">
    {effects.map((one) => (
      <li key={JSON.stringify(one)} className={one.state === 'to_undo' ? undefined : 'stays'}>
        <PlannedLine effect={one} isCounted={isCounted} />
        {one.isPointOfNoReturn &&
          (isCounted ? (
            <strong className="no-return-text"> The point of no return.</strong>
          ) : (
            <div className="no-return">
              <NoReturn step={one.step} stays="below" />
            </div>
          ))}
      </li>
    ))}
  </ol>
)

function PlannedLine({
  effect,
  isCounted,
}: { readonly effect: Planned } & Pick<UndoPlanProps, 'isCounted'>) {
  const { step, functionName, state, note, memberCount } = effect
  return (
    <>
      <strong>{step}</strong> {UNDO_WORDS[state].plan}
      {state === 'to_undo' && functionName && ` by ${functionName}`}
      {isCounted && ` (${countText(memberCount)} ${memberCount === 1 ? 'person' : 'people'})`}
      {note && <span className="quiet">: {note}</span>}
    </>
  )
}

interface PastNoReturnProps {
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}
/** Off unless somebody chooses it: it costs what the cut-over gave. */
export const PastNoReturn = ({ isChosen, onChoose }: PastNoReturnProps) => (
  <div className="past-no-return">
    <label className="check">
      <input
        type="checkbox"
        checked={isChosen}
        onChange={(event) => onChoose(event.target.checked)}
      />{' '}
      Also undo what was done before the point of no return
    </label>
    <p className="quiet">
      The step at that point stays done. Taking back what came before it costs what the person works
      with now: without its licence or account, a mailbox that was cut over is lost after 30 days.
    </p>
  </div>
)
