// One tenant in memory: users and groups, indexed by all their names. A name belongs to one object and its domain to the
// tenant. Every change of a user goes through `change`, which maintains the index; reads see an object only after the
// replication lag.

import { domainOf, isSameAddress } from './addresses.ts'
import { guidOf } from './identity.ts'
import type { Json } from './json.ts'
import { badRequest, objectConflict } from './refusal.ts'
import { type Group, type TenantState, USERS_MAX, type User } from './state.ts'

const keysOf = (user: User): string[] =>
  user.deletedDateTime === null
    ? [
        `upn:${user.userPrincipalName.toLowerCase()}`,
        ...user.proxyAddresses.map((proxy) => proxy.toLowerCase()),
        `guid:${recipientGuidOf(user)}`,
      ]
    : []

/** Exchange's own id of the user, which differs from the directory's. */
export const recipientGuidOf = (user: User): string => guidOf('recipient', user.id)

/** Changes with time: an open invitation, or a deleted user that expires. */
const isPending = (user: User): boolean =>
  user.externalUserState === 'PendingAcceptance' || user.deletedDateTime !== null

/** A copy in Sent Items. Not part of the state: mail is no configuration of a tenant. */
export interface SentMail {
  readonly id: string
  readonly userId: string
  readonly sentDateTime: string
  readonly to: readonly string[]
  readonly subject: Json
  readonly body: Json
  readonly properties: readonly { readonly id: string; readonly value: string }[]
}

const SENT_ITEMS_MAX = 50_000

export class SandboxTenant {
  readonly state: TenantState
  readonly sentItems: SentMail[] = []
  readonly #users = new Map<string, User>()
  readonly #groups = new Map<string, Group>()
  /** Owner's id by UPN or address. */
  readonly #owners = new Map<string, string>()
  readonly #pending = new Set<User>()

  constructor(state: TenantState) {
    this.state = state
    for (const group of state.groups) this.#groups.set(group.id, group)
    for (const group of state.groups)
      if (group.mail !== null) this.#owners.set(`smtp:${group.mail.toLowerCase()}`, group.id)
    for (const user of state.users) {
      this.#requireNamesFree(user, user.userPrincipalName, user.proxyAddresses)
      this.#index(user)
    }
  }

  /** Keeps only the latest. */
  keepSent(mail: SentMail): void {
    this.sentItems.push(mail)
    if (this.sentItems.length > SENT_ITEMS_MAX) this.sentItems.splice(0, SENT_ITEMS_MAX / 10)
  }

  #index(user: User): void {
    this.#users.set(user.id, user)
    for (const key of keysOf(user)) this.#owners.set(key, user.id)
    if (isPending(user)) this.#pending.add(user)
    else this.#pending.delete(user)
  }

  get id(): string {
    return this.state.id
  }

  get initialDomain(): string {
    const { domains } = this.state
    return domains.find((domain) => domain.endsWith('.onmicrosoft.com')) ?? domains[0]!
  }

  hasDomain(domain: string): boolean {
    return this.state.domains.includes(domain)
  }

  isFederated(domain: string): boolean {
    return this.state.federatedDomains.includes(domain)
  }

  users(): User[] {
    return this.state.users.filter(({ deletedDateTime }) => deletedDateTime === null)
  }

  /** Users that change with time. */
  pendingUsers(): readonly User[] {
    return [...this.#pending]
  }

  deletedUsers(): User[] {
    return this.pendingUsers().filter(({ deletedDateTime }) => deletedDateTime !== null)
  }

  groups(): readonly Group[] {
    return this.state.groups
  }

  /** Finds a user by id or UPN, visible or not; never a deleted one. */
  user(reference: string): User | undefined {
    const key = reference.toLowerCase()
    const user = this.#users.get(key) ?? this.#users.get(this.#owners.get(`upn:${key}`) ?? '')
    return user?.deletedDateTime === null ? user : undefined
  }

  visibleUser(reference: string, now: Date): User | undefined {
    const user = this.user(reference)
    return user && isVisible(user, now) ? user : undefined
  }

  deletedUser(id: string): User | undefined {
    const user = this.#users.get(id.toLowerCase())
    return user?.deletedDateTime === null ? undefined : user
  }

  group(id: string): Group | undefined {
    return this.#groups.get(id.toLowerCase())
  }

  /** The owner of an address such as "smtp:ada@contoso.example". */
  ownerOf(proxy: string): string | undefined {
    return this.#owners.get(proxy.toLowerCase())
  }

  /** Finds a user as Exchange does: by id, UPN, address, alias, name or mailbox id. */
  findUser(name: string): User | undefined {
    return (
      this.user(name) ??
      this.#users.get(this.ownerOf(`smtp:${name}`) ?? '') ??
      this.#users.get(this.ownerOf(`guid:${name}`) ?? '') ??
      this.users().find((user) => otherNamesOf(user).some((other) => isSameAddress(other, name)))
    )
  }

  /** The same id on every run, unless an object of that name already existed. */
  newId(kind: string, name: string): string {
    for (let before = 0; ; before += 1) {
      const id = guidOf(this.id, kind, name.toLowerCase(), ...(before > 0 ? [before] : []))
      if (!this.#users.has(id) && !this.#groups.has(id)) return id
    }
  }

  add(user: User): void {
    if (this.#users.size >= USERS_MAX)
      throw badRequest('The directory object quota limit for the Tenant has been exceeded.')
    this.#requireNamesFree(user, user.userPrincipalName, user.proxyAddresses)
    this.state.users.push(user)
    this.#index(user)
  }

  /** Changes the user and its index entries. Throws, changing nothing, when a name belongs to another object. */
  change(user: User, changes: Partial<User>): void {
    const next = { ...user, ...changes }
    if (next.deletedDateTime === null)
      this.#requireNamesFree(user, next.userPrincipalName, next.proxyAddresses)
    for (const key of keysOf(user)) this.#owners.delete(key)
    if (next.userPrincipalName !== user.userPrincipalName)
      this.#renameInRights(user.userPrincipalName, next.userPrincipalName)
    Object.assign(user, changes)
    this.#index(user)
  }

  /** Rights are those of an account, whatever its name: they are shown under the new one. */
  #renameInRights(before: string, now: string): void {
    for (const { recipient } of this.state.users)
      for (const holders of recipient ? [recipient.fullAccess, recipient.sendAs] : []) {
        const at = holders.findIndex((one) => one.toLowerCase() === before.toLowerCase())
        if (at >= 0) holders[at] = now
      }
  }

  /** Deletes the user permanently. */
  purge(user: User): void {
    this.#users.delete(user.id)
    this.#pending.delete(user)
    this.state.users.splice(this.state.users.indexOf(user), 1)
    for (const group of this.state.groups)
      group.members = group.members.filter((member) => member !== user.id)
  }

  #requireNamesFree(user: User, upn: string, proxies: readonly string[]): void {
    const holder = this.#owners.get(`upn:${upn.toLowerCase()}`)
    if (holder !== undefined && holder !== user.id)
      throw objectConflict('userPrincipalName', upn, holder)
    for (const proxy of proxies) {
      const owner = this.ownerOf(proxy)
      if (owner !== undefined && owner !== user.id)
        throw objectConflict('proxyAddresses', proxy, owner)
    }
  }

  requireVerified(upn: string): void {
    if (this.hasDomain(domainOf(upn))) return
    throw badRequest(
      'The domain portion of the userPrincipalName property is invalid. You must use one of the verified domain names in your organization.',
    )
  }

  /** The groups that contain the user, directly or through other groups. */
  groupsContaining(memberId: string): Set<string> {
    const found = new Set<string>()
    const open = [memberId]
    for (let inner = open.pop(); inner !== undefined; inner = open.pop()) {
      for (const group of this.state.groups) {
        if (found.has(group.id) || !group.members.includes(inner)) continue
        found.add(group.id)
        open.push(group.id)
      }
    }
    return found
  }
}

export const isVisible = (object: { readonly visibleAt: string | null }, now: Date): boolean =>
  object.visibleAt === null || Date.parse(object.visibleAt) <= +now

const otherNamesOf = ({ mailNickname, displayName, recipient }: User): string[] => [
  mailNickname,
  displayName,
  ...(recipient?.exchangeGuid ? [recipient.exchangeGuid] : []),
  ...(recipient ? [recipient.legacyExchangeDn] : []),
]
