// Whether rollbacks restored the tenant: the accounts, licences, groups, mailboxes and moves of each person before the phase and at
// the end, compared object by object. What only time changes, such as when somebody last signed out, does not count.

import type { State } from '../../../sandbox/state.ts'
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

export class Restoration {
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
    for (const { members, displayName: group } of groups)
      for (const member of members) groupsOf.set(member, [...(groupsOf.get(member) ?? []), group])
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

type User = State['tenants'][number]['users'][number]

function moveOf(user: User, moves: ReadonlyMap<string, string>): string {
  const addresses = [user.userPrincipalName, ...user.proxyAddresses.map((one) => one.slice(5))]
  return addresses.flatMap((one) => moves.get(one.toLowerCase()) ?? [])[0] ?? ''
}

function factsOf(user: User): Record<string, string> {
  const { recipient } = user
  return {
    'user principal name': user.userPrincipalName,
    'display name': user.displayName,
    mail: user.mail ?? '',
    addresses: user.proxyAddresses.toSorted().join(', '),
    enabled: String(user.accountEnabled),
    type: user.userType,
    manager: user.managerId ?? '',
    attributes: JSON.stringify(Object.entries(user.attributes).toSorted()),
    recipient: recipient?.kind ?? '',
    ...(recipient && {
      ExchangeGuid: recipient.exchangeGuid ?? '',
      ArchiveGuid: recipient.archiveGuid ?? '',
      'external address': recipient.externalEmailAddress ?? '',
      forwarding: recipient.forwardingSmtpAddress ?? '',
      hidden: String(recipient.isHidden),
      hold: String(recipient.isOnLitigationHold),
      shared: String(recipient.isShared),
      'automatic reply': recipient.autoReply.state,
      'full access': recipient.fullAccess.join(', '),
      'send as': recipient.sendAs.join(', '),
      'send on behalf': recipient.sendOnBehalf.join(', '),
    }),
  }
}

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
