// One tenant in memory: its users and groups, found by any of their names, and the rules that hold for all of them: a name
// belongs to one object, and its domain to the tenant. Everything that changes a user goes through `change`, which keeps the
// names true; reads see an object only after the time that replication takes.
import { domainOf, isSameAddress } from './addresses.ts'
import { guidOf } from './identity.ts'
import { badRequest, objectConflict } from './refusal.ts'
import { type Group, type TenantState, USERS_MAX, type User } from './state.ts'

const keysOf = (user: User): string[] =>
  user.deletedDateTime === null
    ? [
        `upn:${user.userPrincipalName.toLowerCase()}`,
        ...user.proxyAddresses.map((proxy) => proxy.toLowerCase()),
        ...(user.recipient ? [`guid:${recipientGuidOf(user)}`] : []),
      ]
    : []

/** The id that Exchange has for it, which is not the directory's. */
export const recipientGuidOf = (user: User): string => guidOf('recipient', user.id)

/** Time will change it: an invitation is open, or its place in the bin runs out. */
const isWaiting = (user: User): boolean =>
  user.externalUserState === 'PendingAcceptance' || user.deletedDateTime !== null

export class SandboxTenant {
  readonly state: TenantState
  readonly #users = new Map<string, User>()
  readonly #groups = new Map<string, Group>()
  /** From a UPN or an address to the id of the user or group that has it. */
  readonly #owners = new Map<string, string>()
  readonly #waiting = new Set<User>()

  constructor(state: TenantState) {
    this.state = state
    for (const group of state.groups) this.#groups.set(group.id, group)
    for (const group of state.groups)
      if (group.mail !== null) this.#owners.set(`smtp:${group.mail.toLowerCase()}`, group.id)
    for (const user of state.users) {
      this.#requireNamesFree(user, user.userPrincipalName, user.proxyAddresses)
      this.#keep(user)
    }
  }

  #keep(user: User): void {
    this.#users.set(user.id, user)
    for (const key of keysOf(user)) this.#owners.set(key, user.id)
    if (isWaiting(user)) this.#waiting.add(user)
    else this.#waiting.delete(user)
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

  users(): User[] {
    return this.state.users.filter(({ deletedDateTime }) => deletedDateTime === null)
  }

  /** Those whom time will change. */
  waiting(): readonly User[] {
    return [...this.#waiting]
  }

  deletedUsers(): User[] {
    return this.waiting().filter(({ deletedDateTime }) => deletedDateTime !== null)
  }

  groups(): readonly Group[] {
    return this.state.groups
  }

  /** By id or UPN, whether reads see it yet or not; deleted ones are not found. */
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

  /** Whoever has the address, such as "smtp:ada@contoso.example". */
  ownerOf(proxy: string): string | undefined {
    return this.#owners.get(proxy.toLowerCase())
  }

  /** Whom Exchange knows under this name: id, UPN, address, alias, name or one of the mailbox's ids. */
  userCalled(name: string): User | undefined {
    return (
      this.user(name) ??
      this.#users.get(this.ownerOf(`smtp:${name}`) ?? '') ??
      this.#users.get(this.ownerOf(`guid:${name}`) ?? '') ??
      this.users().find((user) => otherNamesOf(user).some((one) => isSameAddress(one, name)))
    )
  }

  /** An id that the object gets on every run, as long as no other of that name was there before it. */
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
    this.#keep(user)
  }

  /** Changes the user and the names it is found by. Refused, without a trace, when a name belongs to somebody else. */
  change(user: User, changes: Partial<User>): void {
    const next = { ...user, ...changes }
    if (next.deletedDateTime === null)
      this.#requireNamesFree(user, next.userPrincipalName, next.proxyAddresses)
    for (const key of keysOf(user)) this.#owners.delete(key)
    Object.assign(user, changes)
    this.#keep(user)
  }

  /** For good. */
  purge(user: User): void {
    this.#users.delete(user.id)
    this.#waiting.delete(user)
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

  /** The groups that hold the user, directly or by way of other groups. */
  groupsAround(memberId: string): Set<string> {
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
  ...[mailNickname, displayName],
  ...(recipient?.exchangeGuid ? [recipient.exchangeGuid] : []),
  ...(recipient ? [recipient.legacyExchangeDn] : []),
]
