// Who is who in two tenants. The members of a migration, in all of its batches, are the map from a person's names in the tenant that they
// leave to the one in the tenant that they move to; `people` of their runbook says which values are names. A name that leads to nobody,
// to several, or to a person without an account there, is never passed on: in the other tenant it may be a stranger.
import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import type { People } from '../runbook/model.ts'
import {
  type PeopleName,
  peopleNameIn,
  peopleNamesOf,
  resolveTemplates,
  type Scope,
  scopeOf,
} from '../runbook/template.ts'
import type { Step, Variables } from '../state/facts.ts'
import { identityIn } from '../state/member-addresses.ts'
import type { MemberStatus } from '../state/transitions.ts'
import { runbookStepOf } from './definitions.ts'
import type { Draft } from './draft.ts'

/** A member of any batch, found by one of their names or addresses. */
export interface KnownPerson {
  readonly memberId: number
  readonly status: MemberStatus
  readonly data: Variables
  readonly outputs: Variables
  /** Of their runbook's version. */
  readonly people: People
}

/** The found people of one migration, with their names worked out once. */
export interface PersonMap {
  readonly people: readonly (KnownPerson & Named)[]
}
interface Named {
  readonly names: ReadonlySet<string>
  readonly target: string | null
}

/** Only of runbooks that move people to the tenant of the same worker. */
export const personMapOf = (found: readonly KnownPerson[], workerId: string): PersonMap => ({
  people: found
    .filter((one) => one.status !== 'removed' && sameName(one.people.workerId, workerId))
    .map((one) => ({ ...one, ...namesOf(one.people, scopeOf([one.outputs, one.data])) })),
})

function namesOf(people: People, scope: Scope): Named {
  const names = people.source.flatMap((template) => identitiesIn(resolvedOf(template, scope)))
  const [target = null] = identitiesIn(resolvedOf(people.target, scope))
  return { names: new Set([...names, ...(target === null ? [] : [target])]), target }
}

function resolvedOf(template: string, scope: Scope): Json {
  const found = resolveTemplates(template, scope)
  return found.ok ? found.value : null
}

const identitiesIn = (value: Json): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => identityIn(one) ?? [])

/** What a step's templates look up. */
export interface LookedUp {
  /** Undefined: a single person who is not to be found. */
  readonly value: Json | undefined
  /** Those of a list who have no account in the tenant yet: their own steps do it when they have. */
  readonly waiting: readonly string[]
}

/** The target's names for the people in a value. One person must be found; of several, those who are not found wait. */
export function mapPeople(value: Json, { people }: PersonMap): LookedUp {
  if (value === null || value === '') return { value: null, waiting: [] }
  const targetOf = (name: Json): string | null => {
    const identity = identityIn(name)
    if (identity === null) return null
    // Who failed may have been rolled back: the account of the outputs is then gone.
    const found = people.filter(({ names, status }) => status === 'active' && names.has(identity))
    const targets = new Set(found.flatMap(({ target }) => target ?? []))
    return targets.size === 1 ? [...targets][0]! : null
  }
  if (!Array.isArray(value)) return { value: targetOf(value) ?? undefined, waiting: [] }
  const mapped = value.map((name) => [name, targetOf(name)] as const)
  return {
    value: [...new Set(mapped.flatMap(([, target]) => target ?? []))],
    waiting: mapped.flatMap(([name, target]) => (target === null ? [String(name)] : [])),
  }
}

/** Those who have an account in the target and whose variable names this member. */
export function waitingFor(
  memberId: number,
  own: ReadonlySet<string>,
  variable: string,
  { people }: PersonMap,
): string[] {
  const waiting = people.filter(
    (one) =>
      one.memberId !== memberId &&
      identitiesIn(scopeOf([one.outputs, one.data]).lookup(variable) ?? null).some((name) =>
        own.has(name),
      ),
  )
  return [...new Set(waiting.flatMap(({ target }) => target ?? []))]
}

/** Of a runbook's step; most name nobody. */
const namesOfStep = new WeakMap<object, readonly PeopleName[]>()

function peopleNamesIn(draft: Draft, step: Step): readonly PeopleName[] {
  const definition = runbookStepOf(draft, step)
  if (step.kind === 'undo' || !definition) return []
  const known = namesOfStep.get(definition)
  if (known) return known
  const inConditions = definition.when.flatMap(({ variable }) => peopleNameIn(variable) ?? [])
  const names = [...peopleNamesOf(definition.params), ...inConditions]
  namesOfStep.set(definition, names)
  return names
}

const peopleOf = (draft: Draft, { definition }: Step): People | null =>
  draft.runbooks.get(definition.runbookVersion)?.people ?? null

const ownNames = (people: People, scope: Scope): ReadonlySet<string> => namesOf(people, scope).names

/** The names and addresses that the step's templates need to know; empty for most steps. */
export function identitiesToFind(draft: Draft, step: Step, scopeOfStep: () => Scope): string[] {
  const names = peopleNamesIn(draft, step)
  const people = names.length === 0 ? null : peopleOf(draft, step)
  if (people === null) return []
  const scope = scopeOfStep()
  return names.flatMap(({ kind, variable }) =>
    kind === 'waiting'
      ? [...ownNames(people, scope)]
      : identitiesIn(scope.lookup(variable) ?? null),
  )
}

export interface ScopeWithPeople extends Scope {
  /** Names of a list that wait, and names of single people who are not to be found. */
  readonly waiting: Set<string>
  readonly missing: Set<string>
  /** What conditions looked up is not left out of a call. */
  forget(): void
}

/** The same scope, in which `person:` and `waiting:` look people up; null for a step that names nobody. */
export function withPeople(draft: Draft, step: Step, scope: Scope): ScopeWithPeople | null {
  const names = peopleNamesIn(draft, step)
  const people = names.length === 0 ? null : peopleOf(draft, step)
  if (people === null) return null
  const map = personMapOf(draft.knownPeople, people.workerId)
  const waiting = new Set<string>()
  const missing = new Set<string>()
  return {
    waiting,
    missing,
    forget() {
      waiting.clear()
      missing.clear()
    },
    names: () => scope.names(),
    lookup(name) {
      const asked = names.find(({ kind, variable }) => name === `${kind}:${variable}`)
      if (!asked) return scope.lookup(name)
      if (asked.kind === 'waiting')
        return waitingFor(step.memberId!, ownNames(people, scope), asked.variable, map)
      const value = scope.lookup(asked.variable)
      if (value === undefined) return undefined
      const found = mapPeople(value, map)
      for (const one of found.waiting) waiting.add(one)
      if (found.value === undefined) missing.add(String(value))
      return found.value
    },
  }
}
