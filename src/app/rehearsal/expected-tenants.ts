// Works out which tenants a runbook expects: the people, groups, domains and endpoints that its steps name before any step creates
// them. A name that a step creates is left out, and a rare domain is taken for a slip of the pen, so that both fail as they would at
// Microsoft. One tenant per worker.

import { guidOf, isGuidText } from '../../../sandbox/identity.ts'
import { DEFAULT_SKUS } from '../../../sandbox/skus.ts'
import type { Seed } from '../../../sandbox/state.ts'
import type { Json } from '../../base/text/json.ts'
import { valueNamed } from '../../base/text/same-name.ts'
import type { Runbook, RunbookStep } from '../../domain/runbook/model.ts'
import { stepsOf } from '../../domain/runbook/steps.ts'
import { resolveTemplates, type Scope, scopeOf } from '../../domain/runbook/template.ts'

export type RehearsalRow = Readonly<Record<string, Json>>
type TenantSeed = Seed['tenants'][number]
type UserSeed = NonNullable<TenantSeed['users']>[number]

/** A person or mailbox that a step names. */
interface Reference {
  /** A GUID or an address, lower case. */
  readonly name: string
  readonly hasMailbox: boolean
}

class ExpectedTenant {
  readonly workerId: string
  readonly label: string
  /** Names that steps create. */
  readonly made = new Set<string>()
  readonly madeDomains = new Map<string, number>()
  /** By row; null for those that every row shares. */
  readonly references = new Map<number | null, Reference[]>()
  /** Members by group. */
  readonly groups = new Map<string, Set<string>>()
  readonly joined = new Set<string>()
  readonly endpoints = new Set<string>()
  readonly deliveryDomains = new Set<string>()
  readonly skus = new Set<string>()

  constructor(workerId: string) {
    this.workerId = workerId
    this.label = labelOf(workerId)
  }
}

/** `contoso-worker` serves the tenant `contoso`. */
export const labelOf = (workerId: string): string =>
  workerId
    .toLowerCase()
    .replace(/-worker$/, '')
    .replaceAll(/[^a-z0-9-]+/g, '-')

export function expectedTenants(runbook: Runbook, rows: readonly RehearsalRow[]): Seed {
  const tenants = new Map<string, ExpectedTenant>()
  const before = stepsOf(runbook, 'init', 'phase')
  const after = stepsOf(runbook, 'removal', 'rollback')
  for (const { workerId } of [...before, ...after])
    if (!tenants.has(workerId.toLowerCase()))
      tenants.set(workerId.toLowerCase(), new ExpectedTenant(workerId))
  const note = (step: RunbookStep, row: number | null, scope: Scope, isInOrder: boolean) =>
    noteStep(tenants.get(step.workerId.toLowerCase())!, step, { row, scope, isInOrder })
  for (const step of runbook.init) note(step, null, scopeOf([]), true)
  for (const [at, row] of rows.entries()) {
    const scope = scopeOf([row])
    for (const step of before.slice(runbook.init.length)) note(step, at, scope, true)
    for (const step of after) note(step, at, scope, false)
  }
  for (const { notify, workerId } of [...before, ...after])
    if (notify) noteSender(tenants.get(workerId.toLowerCase())!, runbook.messages!.from)
  return { tenants: seedsOf([...tenants.values()], rows) }
}

type Named =
  | 'person'
  | 'new name'
  | 'new name with New-'
  | 'invited person'
  | 'member'
  | 'group'
  | 'endpoint'
  | 'delivery domain'
  | 'licence'

/** What a parameter of any function names. A test knows why each other parameter of a standard function names nothing. */
export const NAMED_BY_PARAMETER = {
  UserId: 'member',
  MemberIdentity: 'member',
  UserIds: 'person',
  Identity: 'person',
  ManagerId: 'person',
  From: 'person',
  User: 'person',
  FullAccess: 'person',
  SendAs: 'person',
  SendOnBehalf: 'person',
  SourceUserPrincipalName: 'person',
  PrimarySmtpAddress: 'new name',
  NewUserPrincipalName: 'new name',
  NewPrimaryEmail: 'new name',
  EmailAddress: 'new name',
  Mail: 'new name',
  UserPrincipalName: 'new name with New-',
  InvitedUserEmailAddress: 'invited person',
  GroupId: 'group',
  GroupIdentity: 'group',
  SourceEndpoint: 'endpoint',
  TargetDeliveryDomain: 'delivery domain',
  SkuId: 'licence',
} as const satisfies Readonly<Record<string, Named>>

const NAMED: ReadonlyMap<string, Named> = new Map(
  Object.entries(NAMED_BY_PARAMETER).map(([key, named]) => [key.toLowerCase(), named]),
)

interface NotedStep {
  readonly row: number | null
  readonly scope: Scope
  /** It runs for everybody, unlike removal steps and rollbacks. */
  readonly isInOrder: boolean
}

function noteStep(tenant: ExpectedTenant, step: RunbookStep, noted: NotedStep): void {
  const { row, scope, isInOrder } = noted
  const name = textsOf(resolved(step.function, scope))[0] ?? ''
  const hasMailbox = !/-Entra/i.test(name)
  const groups: string[] = []
  const members: string[] = []
  for (const [key, value] of Object.entries(step.params)) {
    const named = NAMED.get(key.toLowerCase())
    const whose = holdsTemplate(value) ? row : null
    for (const text of textsOf(resolved(value, scope))) {
      if (named === 'group') groups.push(text)
      else if (named === 'endpoint') tenant.endpoints.add(text)
      else if (named === 'delivery domain') tenant.deliveryDomains.add(text.toLowerCase())
      else if (named === 'invited person') tenant.made.add(text.toLowerCase())
      else if (named === 'licence' && /^Add-/i.test(name)) tenant.skus.add(text)
      else if (named === 'new name' || (named === 'new name with New-' && /^New-/i.test(name)))
        noteMade(tenant, text)
      if (named === 'member') members.push(text.toLowerCase())
      if ((named === 'member' || named === 'person') && (isGuidText(text) || text.includes('@')))
        noteReference(tenant, whose, { name: text.toLowerCase(), hasMailbox })
    }
  }
  for (const group of groups)
    noteGroup(tenant, name, group, members, isInOrder && expects(step, scope))
}

/** The mailbox that sends the runbook's messages. */
function noteSender(tenant: ExpectedTenant, from: string): void {
  noteReference(tenant, null, { name: from.toLowerCase(), hasMailbox: true })
}

function noteMade(tenant: ExpectedTenant, text: string): void {
  const name = text.toLowerCase()
  const domain = domainIn(name)
  if (domain === null || tenant.made.has(name)) return
  tenant.made.add(name)
  tenant.madeDomains.set(domain, (tenant.madeDomains.get(domain) ?? 0) + 1)
}

function noteReference({ references }: ExpectedTenant, row: number | null, one: Reference): void {
  const known = references.get(row)
  if (known) known.push(one)
  else references.set(row, [one])
}

/** A member is there already if a step removes or expects it, unless a step before has added it. */
function noteGroup(
  { groups, joined }: ExpectedTenant,
  functionName: string,
  group: string,
  members: readonly string[],
  isExpected: boolean,
): void {
  const known = groups.get(group) ?? new Set()
  groups.set(group, known)
  for (const member of members) {
    const key = `${group} ${member}`.toLowerCase()
    if (/^Add-/i.test(functionName)) joined.add(key)
    else if (isExpected && !joined.has(key)) known.add(member)
  }
}

function expects({ params }: RunbookStep, scope: Scope): boolean {
  const expected = Object.entries(params).find(([key]) => /^Expected$/i.test(key))?.[1] ?? true
  return !/^(false|no|0)$/i.test(textsOf(resolved(expected, scope))[0] ?? 'true')
}

// --- Seeds ---------------------------------------------------------------------------------------

/** A domain that so few created names have is a slip of the pen. */
const DOMAIN_SHARE_MIN = 0.05

function seedsOf(tenants: readonly ExpectedTenant[], rows: readonly RehearsalRow[]): TenantSeed[] {
  const domains = tenants.map(verifiedDomains)
  return tenants.map((tenant, at) => {
    const others = domains.filter((_, other) => other !== at)
    const own = domains[at]!.filter(
      (domain) => !others.some((list, other) => list.includes(domain) && other < at),
    )
    const initial = `${tenant.label}.onmicrosoft.com`
    const users = usersOf(tenant, rows, own[0] ?? initial)
    const remote = others.find((list) => list.length > 0)?.[0]
    return {
      domains: [...new Set([...(own.length > 0 ? own : [`${tenant.label}.example`]), initial])],
      displayName: tenant.label,
      users,
      groups: groupsOf(tenant, users),
      skus: skusOf(tenant),
      ...(remote && {
        migrationEndpoints: [...tenant.endpoints].map((name) => ({ name, remoteTenant: remote })),
      }),
    }
  })
}

function verifiedDomains(tenant: ExpectedTenant): string[] {
  const { madeDomains, references, made, deliveryDomains } = tenant
  const total = [...madeDomains.values()].reduce((sum, count) => sum + count, 0)
  const byCount = [...madeDomains].toSorted(([, a], [, b]) => b - a)
  const created = byCount
    .filter(([, count], place) => place === 0 || (count > 1 && count >= total * DOMAIN_SHARE_MIN))
    .map(([domain]) => domain)
  const named = [...references.values()]
    .flat()
    .filter(({ name }) => !made.has(name))
    .flatMap(({ name }) => domainIn(name) ?? [])
  return [...new Set([...named, ...created, ...deliveryDomains])]
}

function usersOf(
  tenant: ExpectedTenant,
  rows: readonly RehearsalRow[],
  domain: string,
): UserSeed[] {
  const { references, made } = tenant
  const users = new Map<string, UserSeed>()
  const add = (user: UserSeed) => {
    const key = user.userPrincipalName.toLowerCase()
    const known = users.get(key)
    users.set(key, { ...known, ...user, ...(known?.recipient && { recipient: known.recipient }) })
  }
  const expected = ({ name }: Reference) => !made.has(name)
  for (const one of references.get(null)?.filter(expected) ?? [])
    add(userOf([one], {}, `shared-${users.size + 1}@${domain}`))
  for (const [at, row] of rows.entries()) {
    const ofRow = references.get(at)?.filter(expected) ?? []
    if (ofRow.length > 0) add(userOf(ofRow, row, `person-${at + 1}@${domain}`))
  }
  return [...users.values()]
}

function userOf(names: readonly Reference[], row: RehearsalRow, otherwise: string): UserSeed {
  const id = names.find(({ name }) => isGuidText(name))?.name
  const address = names.find(({ name }) => name.includes('@'))?.name
  const upn = address ?? otherwise
  const column = (wanted: string): string | undefined => {
    const found = valueNamed(row, wanted)
    return typeof found === 'string' && found !== '' ? found : undefined
  }
  const displayName = column('displayname')
  return {
    userPrincipalName: upn,
    ...(id !== undefined && { id }),
    ...(displayName !== undefined && { displayName }),
    usageLocation: 'US',
    ...(names.some(({ hasMailbox }) => hasMailbox) && {
      mail: upn,
      proxyAddresses: [`SMTP:${upn}`],
      assignedLicenses: [{ skuId: DEFAULT_SKUS[0]!.skuId }],
      recipient: { kind: 'mailbox' as const },
    }),
  }
}

function groupsOf({ groups, label }: ExpectedTenant, users: readonly UserSeed[]) {
  const known = new Set(users.flatMap(({ id, userPrincipalName }) => [id, userPrincipalName]))
  return [...groups].map(([group, members], at) => ({
    ...(isGuidText(group)
      ? { id: group, displayName: `Group ${at + 1} of ${label}` }
      : { id: guidOf('group', label, group), displayName: group.split('@')[0]! }),
    ...(group.includes('@') && { mail: group, kind: 'mailEnabledSecurity' as const }),
    members: [...members].filter((member) => known.has(member)),
  }))
}

/** Unknown licences are taken to include a mailbox. */
function skusOf({ skus }: ExpectedTenant): NonNullable<TenantSeed['skus']> {
  const [mailbox] = DEFAULT_SKUS
  const known = new Set(
    DEFAULT_SKUS.flatMap(({ skuId, skuPartNumber }) => [skuId, skuPartNumber.toLowerCase()]),
  )
  const others = [...skus].filter((sku) => !known.has(sku.toLowerCase()))
  return [
    ...structuredClone(DEFAULT_SKUS),
    ...others.map((sku) => ({
      ...structuredClone(mailbox!),
      skuId: isGuidText(sku) ? sku : guidOf('sku', sku),
      skuPartNumber: isGuidText(sku) ? `LICENCE_${sku.slice(0, 8)}` : sku,
    })),
  ]
}

// --- Values --------------------------------------------------------------------------------------

/** Null when a variable comes from a step. */
function resolved(value: Json, scope: Scope): Json {
  const found = resolveTemplates(value, scope)
  return found.ok ? found.value : null
}

function textsOf(value: Json): string[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [value.trim()]
  if (typeof value === 'boolean') return [String(value)]
  return Array.isArray(value) ? value.flatMap(textsOf) : []
}

const holdsTemplate = (value: Json): boolean => JSON.stringify(value).includes('{{')

const domainIn = (name: string): string | null =>
  /^[^@\s]+@([a-z0-9-]+(?:\.[a-z0-9-]+)+)$/.exec(name)?.[1] ?? null
