// Whether rollbacks restored the tenant: the accounts, licences, groups, mailboxes and moves of each person before the phase and at
// the end, compared object by object. What only time changes, such as when somebody last signed out, does not count.

import type { Group, Recipient, State, User } from '../../../sandbox/state.ts'
import type { RolledBackMember } from '../../db/views/rehearsal.ts'

/** A user's facts as JSON, by tenant and id. Equal texts are shared between snapshots. */
type Snapshot = ReadonlyMap<string, string>
type Facts = Readonly<Record<string, string>>

export interface NotRestored {
  readonly member: string
  readonly phase: string
  readonly failedStep: string
  /** Sentences, an object each. */
  readonly differences: readonly string[]
}

const DIFFERENCES_SHOWN = 8

export class RollbackCheck {
  readonly #snapshots: { readonly atMs: number; readonly users: Snapshot }[] = []

  /** Call it before the first step, and before each phase. */
  keep(state: State, at: Date): void {
    const users = snapshotOf(state, this.#snapshots.at(-1)?.users)
    this.#snapshots.push({ atMs: +at, users })
  }

  /** Compares with the start and with the phase that failed, and takes what is nearer. */
  compare(members: readonly RolledBackMember[], state: State): NotRestored[] {
    const after = snapshotOf(state)
    const names = namesOf([...this.#snapshots.map(({ users }) => users), after])
    return members.flatMap(({ memberKey, data, phaseName, failedStep, phaseStartedAt }) => {
      const values = new Set(valuesIn(data))
      const keys = [...new Set([...values].flatMap((value) => names.get(value) ?? []))]
      const differences = this.#before(phaseStartedAt)
        .map((before) => keys.flatMap((key) => differencesIn(before.get(key), after.get(key))))
        .toSorted((a, b) => a.length - b.length)[0]
      if (!differences || differences.length === 0) return []
      const shown = differences.slice(0, DIFFERENCES_SHOWN)
      return [{ member: memberKey, phase: phaseName, failedStep, differences: shown }]
    })
  }

  #before(phaseStartedAt: Date): Snapshot[] {
    const first = this.#snapshots[0]
    const last = this.#snapshots.findLast(({ atMs }) => atMs <= +phaseStartedAt)
    return [last, first].flatMap((one) => (one ? [one.users] : []))
  }
}

function snapshotOf({ tenants }: State, former: Snapshot = new Map()): Snapshot {
  const users = new Map<string, string>()
  for (const { id: tenantId, displayName, users: all, groups, migrationBatches, skus } of tenants) {
    const groupsOf = new Map<string, string[]>()
    for (const group of groups) {
      const name = Object.values(comparedFacts(GROUP, group)).join(' ')
      for (const member of group.members)
        groupsOf.set(member, [...(groupsOf.get(member) ?? []), name])
    }
    const moves = new Map(
      migrationBatches.flatMap(({ mailboxMoves }) =>
        mailboxMoves.map(({ address, status }) => [address.toLowerCase(), status] as const),
      ),
    )
    const skuNames = new Map(skus.map(({ skuId, skuPartNumber }) => [skuId, skuPartNumber]))
    for (const user of all) {
      if (user.deletedDateTime !== null) continue
      const key = `${tenantId} ${user.id}`
      const facts = {
        ...factsOf(user),
        tenant: displayName,
        groups: (groupsOf.get(user.id) ?? []).toSorted().join(', '),
        licences: user.assignedLicenses.map(({ skuId }) => skuNames.get(skuId) ?? skuId).join(', '),
        'mailbox move': moveOf(user, moves),
      }
      const text = JSON.stringify(facts)
      const same = former.get(key)
      users.set(key, same === text ? same : text)
    }
  }
  return users
}

function moveOf(user: User, moves: ReadonlyMap<string, string>): string {
  const addresses = [user.userPrincipalName, ...user.proxyAddresses.map((one) => one.slice(5))]
  return addresses.flatMap((one) => moves.get(one.toLowerCase()) ?? [])[0] ?? ''
}

/** How a property is compared: under a name, as a text. Or why it is not compared. */
type Comparison<Value> =
  | { readonly name: string; text(value: Value): string }
  | { readonly isNotComparedAs: string }
/** The compiler asks for each property of the sandbox's state. */
type Comparisons<T> = { readonly [Property in keyof T]-?: Comparison<T[Property]> }

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value)

const as = (name: string) => ({ name, text: textOf })
const asList = (name: string) => ({
  name,
  text: (values: readonly string[]) => values.toSorted().join(', '),
})
const not = (isNotComparedAs: string) => ({ isNotComparedAs })

const TIME = 'only time changes it'
const SEED = 'no function changes it'

const USER: Comparisons<User> = {
  id: not('it is the key of the comparison'),
  userPrincipalName: as('user principal name'),
  displayName: as('display name'),
  mailNickname: as('mail nickname'),
  mail: as('mail'),
  proxyAddresses: asList('addresses'),
  accountEnabled: as('enabled'),
  userType: as('type'),
  creationType: not('an invitation sets it with the type, and nothing takes it back'),
  externalUserState: not('an invitation sets it, and only the person changes it'),
  externalUserStateChangeDateTime: not(TIME),
  convertedToInternalUserDateTime: not(TIME),
  usageLocation: not('a licence needs it, and nothing clears it'),
  attributes: {
    name: 'attributes',
    text: (attributes) => JSON.stringify(Object.entries(attributes).toSorted()),
  },
  managerId: as('manager'),
  directoryRoles: not(SEED),
  assignedLicenses: not('the licences are compared by the names that the tenant gives them'),
  passwordHash: not('a former password is not known'),
  signInSessionsValidFromDateTime: not(TIME),
  createdDateTime: not(TIME),
  visibleAt: not(TIME),
  deletedDateTime: not('a deleted account is gone'),
  recipient: not('its own properties are compared'),
  previousMailboxGuid: not('what was cleared cannot come back'),
}

const RECIPIENT: Comparisons<Recipient> = {
  kind: as('recipient'),
  exchangeGuid: as('ExchangeGuid'),
  archiveGuid: as('ArchiveGuid'),
  externalEmailAddress: as('external address'),
  legacyExchangeDn: not(SEED),
  isHidden: as('hidden'),
  forwardingSmtpAddress: as('forwarding'),
  deliverToMailboxAndForward: as('a copy of forwarded mail'),
  forwardingAddress: as('forwarding within the tenant'),
  sizeBytes: not('the owner of the mailbox changes it'),
  itemCount: not('the owner of the mailbox changes it'),
  brokenItemCount: not(SEED),
  isOnLitigationHold: as('hold'),
  inPlaceHolds: not(SEED),
  hasDelayReleaseHold: not(SEED),
  recoverableBytes: not(SEED),
  archiveSizeBytes: not(SEED),
  auxiliaryArchives: not(SEED),
  fullAccess: asList('full access'),
  sendAs: asList('send as'),
  sendOnBehalf: asList('send on behalf'),
  calendarName: not(SEED),
  isShared: as('shared'),
  autoReply: {
    name: 'automatic reply',
    // A reply that is switched off keeps its texts.
    text: ({ state, ...rest }) =>
      state === 'Disabled' ? state : [state, ...Object.values(rest).map(textOf)].join(' '),
  },
  calendarRights: {
    name: 'calendar permissions',
    text: (rights) =>
      rights
        .map(({ userId, right }) => `${right} of ${userId}`)
        .toSorted()
        .join(', '),
  },
  visibleAt: not(TIME),
}

const GROUP: Comparisons<Group> = {
  id: not(SEED),
  displayName: as('name'),
  mail: not(SEED),
  kind: not(SEED),
  isAssignableToRole: not(SEED),
  members: not('each member names its groups'),
  visibleAt: not(TIME),
}

function comparedFacts<T extends object>(comparisons: Comparisons<T>, object: T): Facts {
  const facts: Record<string, string> = {}
  for (const property of Object.keys(comparisons) as (keyof T & string)[]) {
    const comparison = comparisons[property]
    if ('name' in comparison) facts[comparison.name] = comparison.text(object[property])
  }
  return facts
}

const factsOf = (user: User): Facts => ({
  recipient: '',
  ...comparedFacts(USER, user),
  ...(user.recipient && comparedFacts(RECIPIENT, user.recipient)),
})

/** Users by id, name and address. */
function namesOf(snapshots: readonly Snapshot[]): Map<string, string[]> {
  const names = new Map<string, string[]>()
  const add = (name: string, key: string) => {
    const known = names.get(name) ?? []
    if (!known.includes(key)) names.set(name, [...known, key])
  }
  for (const [key, text] of snapshots.flatMap((users) => [...users])) {
    const facts = JSON.parse(text) as Facts
    add(key.split(' ')[1]!, key)
    add(facts['user principal name']!.toLowerCase(), key)
    for (const address of facts.addresses!.split(', '))
      add(address.slice(address.indexOf(':') + 1).toLowerCase(), key)
  }
  return names
}

const valuesIn = (data: Readonly<Record<string, unknown>>): string[] =>
  Object.values(data).flatMap((value) =>
    typeof value === 'string' && value !== '' ? [value.toLowerCase()] : [],
  )

function differencesIn(before: string | undefined, after: string | undefined): string[] {
  if (before === after) return []
  const was = before === undefined ? null : (JSON.parse(before) as Facts)
  const is = after === undefined ? null : (JSON.parse(after) as Facts)
  const one = (is ?? was)!
  const who = `${one['user principal name']} in ${one.tenant}`
  if (was === null) return [`The account ${who} was not there before and still exists.`]
  if (is === null) return [`The account ${who} was there before and is gone.`]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])]
  return names
    .filter((name) => (was[name] ?? '') !== (is[name] ?? ''))
    .map((name) => `${who}: ${name} was ${shown(was[name])} and is ${shown(is[name])}.`)
}

const shown = (value: string | undefined): string => (value ? `"${value}"` : 'empty')
