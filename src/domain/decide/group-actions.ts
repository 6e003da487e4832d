// The ways out for people who failed in the same way: what each of those looked at may do, as one command for all of them. The
// command selects exactly the group; where flags cannot tell it from others, only what harms nobody else is shown.
import {
  type Action,
  type ActionName,
  type Candidate,
  referenceOf,
  shownAction,
} from './actions.ts'

/** A person of the group, with what could help. */
export interface Looked {
  readonly id: number
  readonly key: string
  readonly candidates: readonly Candidate[]
}

export interface FailedPeople {
  /** The first of them. */
  readonly looked: readonly Looked[]
  /** They are all. */
  readonly isEverybody: boolean
  /** Select the people of the group; null when no flags do. */
  readonly flags: string | null
  /** The flags select nobody else. */
  readonly isOnlyGroup: boolean
}

/** For people who are not all named: removals and rollbacks of many start from a list that a person has read. */
const FOR_MANY: readonly ActionName[] = ['resume', 'retry', 'skip', 'mark_done']
/** Repeats what failed, and takes nothing away from people who failed there for another reason. */
const FOR_OTHERS_TOO: readonly ActionName[] = ['resume', 'retry']

/** Most useful first, in the order of the first person's. */
export function actionsForPeople(group: FailedPeople): Action[] {
  const [first, ...others] = group.looked
  if (!first) return []
  const possible = first.candidates.filter(isPossible)
  const flags = group.isEverybody
    ? `--members ${group.looked.map(referenceOf).join(',')}`
    : group.flags
  const allowed = group.isOnlyGroup ? FOR_MANY : FOR_OTHERS_TOO
  return possible.flatMap((candidate) => {
    const same = others.map(({ candidates }) => candidates.find((one) => isSame(one, candidate)))
    if (!same.every((one) => one !== undefined)) return []
    const { action, about, forPeople } = candidate
    if (forPeople === null)
      return group.isEverybody ? eachOwn([candidate, ...same], group.looked) : []
    if (flags === null || !(group.isEverybody || allowed.includes(action))) return []
    return [{ action, about, command: forPeople(flags) }]
  })
}

const eachOwn = (candidates: readonly Candidate[], looked: readonly Looked[]): Action[] =>
  candidates.map((candidate, at) => ({
    ...shownAction(candidate),
    about: `${candidate.about}, for ${looked[at]!.key}`,
  }))

const isPossible = ({ refusal }: Candidate): boolean => refusal === null

const isSame = (one: Candidate, other: Candidate): boolean =>
  isPossible(one) &&
  one.action === other.action &&
  one.about === other.about &&
  one.forPeople?.('') === other.forPeople?.('')
