// What we changed for this person, in order of time: each change with what was before, the function that takes it back, and whether an
// undo would. Below the list stands the undo itself, for those who may.
import { useState } from 'react'
import { UNDO_WORDS } from '../../../../src/domain/state/undo-states.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Section } from '../../ui/page.tsx'
import { lookOf, Status } from '../../ui/status.tsx'
import { Time } from '../../ui/time.tsx'
import { changeWords, type Effect } from '../../undo/change-words.ts'
import { NoReturn } from '../../undo/no-return.tsx'
import type { Person } from './story.ts'
import { UndoPerson } from './undo-person.tsx'

const FIRST = 20

export interface EffectsReading {
  readonly data: { readonly items: readonly Effect[] } | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}

interface ChangesProps {
  readonly person: Person
  readonly reading: EffectsReading
}
export const Changes = ({ person, reading }: ChangesProps) => (
  <Section
    title="What we changed"
    actions={reading.data && <UndoButton person={person} effects={reading.data.items} />}
  >
    <Loaded reading={reading} what="the changes">
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="Nothing was changed yet">
            <p>No job has changed anything for this person.</p>
          </Empty>
        ) : (
          <ChangeList effects={items.toReversed()} />
        )
      }
    </Loaded>
  </Section>
)

function UndoButton({
  person,
  effects,
}: Pick<ChangesProps, 'person'> & { readonly effects: readonly Effect[] }) {
  const { mayChange } = useSession()
  const [isAsked, setAsked] = useState(false)
  if (!mayChange || effects.length === 0) return null
  const isLeft = effects.some(({ state }) => state === 'to_undo' || state === 'beyond')
  if (!isLeft && !isAsked) return <span className="quiet">Nothing is left to undo.</span>
  return (
    <>
      <Button onClick={() => setAsked(true)}>Undo this person…</Button>
      {isAsked && <UndoPerson person={person} onClose={() => setAsked(false)} />}
    </>
  )
}

function ChangeList({ effects }: { readonly effects: readonly Effect[] }) {
  const [isAll, setAll] = useState(false)
  const shown = isAll ? effects : effects.slice(0, FIRST)
  return (
    <>
      <ol className="changes">
        {shown.map((effect) => (
          <li key={`${effect.stepId} ${effect.attempt}`}>
            <Change effect={effect} />
            {effect.isPointOfNoReturn && (
              <div className="no-return">
                <NoReturn step={effect.step} stays="above" />
              </div>
            )}
          </li>
        ))}
      </ol>
      {!isAll && effects.length > FIRST && (
        <p className="more">
          <Button onClick={() => setAll(true)}>Show all {effects.length}</Button>
        </p>
      )}
    </>
  )
}

function Change({ effect }: { readonly effect: Effect }) {
  const { at, step, functionName, target, state, note, undo, undoError } = effect
  const words = changeWords(effect)
  return (
    <div className="change" data-look={lookOf(state)}>
      <Time at={at} />
      <div>
        <p>
          <strong>{step}</strong>
        </p>
        <p className="quiet">{functionName ?? 'function not known'}</p>
      </div>
      <div>
        {target !== null && <p>{target}</p>}
        {words.map((one) => (
          <p key={one}>{one}</p>
        ))}
        {undo && <p className="quiet">Taken back by {undo.functionName}</p>}
      </div>
      <div>
        <Status status={state} />
        <p className="quiet">{undoError ?? note ?? UNDO_WORDS[state].meaning}</p>
      </div>
    </div>
  )
}
