// The start of a sandbox: a JSON seed as sparse as you like, a CSV file of people in a source tenant with a target to move to,
// or a default. An invalid seed is refused with place and reason.
import { parse } from 'csv-parse/sync'
import type { z } from 'zod'
import { domainOf } from './addresses.ts'
import { DEFAULT_SKUS } from './skus.ts'
import { completeState, type Seed, type State, seedSchema } from './state.ts'

const PROBLEMS_SHOWN = 5

/** The first few problems, each with its place. */
export function problemsOf(error: z.ZodError): string {
  const shown = error.issues.slice(0, PROBLEMS_SHOWN).map(({ path, message }) => {
    return `${path.map(String).join('.') || 'the seed'}: ${message}`
  })
  const more = error.issues.length - shown.length
  return `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
}

/** The seed is invalid. The message completes "… cannot be used: …". */
export class SeedFault extends Error {
  override readonly name = 'SeedFault'
}

export function stateOf(seed: unknown): State {
  const read = seedSchema.safeParse(seed)
  if (!read.success) throw new SeedFault(problemsOf(read.error))
  return completeState(read.data)
}

export function jsonSeed(text: string): Seed {
  try {
    return JSON.parse(text) as Seed
  } catch {
    throw new SeedFault('it is not JSON')
  }
}

const TARGET_DOMAINS = [
  'fabrikam.example',
  'contoso.example',
  'northwind.example',
  'matoolkit.example',
]
const labelOf = (domain: string): string => domain.split('.')[0]!.toLowerCase()
/** Includes Exchange. */
const MAILBOX_SKU = DEFAULT_SKUS[0]!.skuId

type UserSeed = NonNullable<Seed['tenants'][number]['users']>[number]

/** A row of a CSV file: a person and their groups. */
interface Person {
  readonly user: UserSeed
  readonly groups: readonly string[]
}

/** Two tenants: one with all people and their mailboxes, and an empty target with a migration endpoint. */
function migrationSeed(people: readonly Person[]): Seed {
  const domains = [...new Set(people.map(({ user }) => domainOf(user.userPrincipalName)))]
  const names = [...new Set(people.flatMap(({ groups }) => groups))]
  const initial = (domain: string) => `${labelOf(domain)}.onmicrosoft.com`
  // The first label names the worker and the initial domain of a tenant.
  const target = TARGET_DOMAINS.find((one) =>
    domains.every((other) => labelOf(other) !== labelOf(one)),
  )
  if (target === undefined) throw new SeedFault('its domains leave no name for the target tenant')
  const from = initial(domains[0]!)
  const membersOf = (group: string) =>
    people.filter(({ groups }) => groups.includes(group)).map(({ user }) => user.userPrincipalName)
  return {
    tenants: [
      {
        domains: [...new Set([...domains, from])],
        users: people.map(({ user }) => user),
        groups: names.map((displayName) => ({ displayName, members: membersOf(displayName) })),
      },
      {
        domains: [target, initial(target)],
        groups: names.map((displayName) => ({ displayName })),
        migrationEndpoints: [{ name: 'source-tenant', remoteTenant: from }],
      },
    ],
  }
}

export const defaultSeed = (): Seed =>
  csvSeed(
    [
      'UserPrincipalName,DisplayName,Department,Groups',
      'ada.adler@contoso.example,Ada Adler,Sales,Everybody',
      'ben.brand@contoso.example,Ben Brand,Finance,Everybody',
      'cleo.costa@contoso.example,Cleo Costa,Engineering,Everybody',
    ].join('\n'),
  )

/** Columns that become directory properties; others are ignored. */
const ATTRIBUTES = [
  'givenName',
  'surname',
  'jobTitle',
  'department',
  'companyName',
  'officeLocation',
  'city',
  'country',
  'employeeId',
  'mobilePhone',
]

/** Each row is a person of the source tenant. Column names match without case. */
export function csvSeed(text: string): Seed {
  const rows = seedRows(text)
  if (rows.length === 0 || !Object.hasOwn(rows[0]!.record, KEY.toLowerCase()))
    throw new SeedFault(`it needs the column ${KEY} and at least one row`)
  requireAddresses(rows)
  return migrationSeed(rows.map(({ record }) => personOf(record)))
}

const KEY = 'UserPrincipalName'

interface SeedRow {
  /** `lines`: where the row ends, with the header as line 1. */
  readonly info: { readonly lines: number }
  readonly record: Record<string, string>
}

function seedRows(text: string): SeedRow[] {
  try {
    const how = { bom: true, columns: namesOf, skip_empty_lines: true, trim: true, info: true }
    return parse(text, how as object) as unknown as SeedRow[]
  } catch (error) {
    if (error instanceof SeedFault) throw error
    throw new SeedFault(`it is not CSV: ${(error as Error).message}`)
  }
}

const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

/** Every person needs an address of their own; the first few faults are told with their row. */
function requireAddresses(rows: readonly SeedRow[]): void {
  const seen = new Map<string, number>()
  const faults = rows.flatMap(({ info: { lines: row }, record }) => {
    const upn = record[KEY.toLowerCase()] ?? ''
    const earlier = seen.get(upn.toLowerCase())
    seen.set(upn.toLowerCase(), earlier ?? row)
    const place = `row ${row}, column ${KEY}`
    if (upn === '') return [`${place}: it is empty`]
    if (!ADDRESS.test(upn)) return [`${place}: "${upn}" is not an address such as ada@contoso.com`]
    return earlier === undefined ? [] : [`${place}: "${upn}" is already in row ${earlier}`]
  })
  if (faults.length === 0) return
  const more = faults.length - PROBLEMS_SHOWN
  const shown = faults.slice(0, PROBLEMS_SHOWN).join('; ')
  throw new SeedFault(`${shown}${more > 0 ? `; and ${more} more` : ''}`)
}

/** The parser would silently use the last of two equal columns. */
function namesOf(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase())
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new SeedFault(`the column "${twice}" appears twice`)
  return names
}

const listOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one !== '')

function personOf(row: Record<string, string>): Person {
  const value = (name: string): string | undefined => row[name.toLowerCase()] || undefined
  const upn = value('userPrincipalName') ?? ''
  const proxies = listOf(value('proxyAddresses'))
  const attributes = Object.fromEntries(
    ATTRIBUTES.flatMap((name) => {
      const text = value(name)
      return text === undefined ? [] : [[name, text]]
    }),
  )
  const user: UserSeed = {
    userPrincipalName: upn,
    ...given('id', value('sourceObjectId') ?? value('id')),
    ...given('displayName', value('displayName')),
    ...given('mailNickname', value('mailNickname')),
    usageLocation: value('usageLocation') ?? 'US',
    attributes,
    mail: value('mail') ?? upn,
    proxyAddresses: proxies.some((one) => one.startsWith('SMTP:'))
      ? proxies
      : [`SMTP:${value('mail') ?? upn}`, ...proxies],
    assignedLicenses: [{ skuId: MAILBOX_SKU }],
    recipient: {
      kind: 'mailbox',
      ...given('exchangeGuid', value('exchangeGuid')),
      ...given('archiveGuid', value('archiveGuid')),
      ...given('legacyExchangeDn', value('legacyExchangeDn')),
    },
  }
  return { user, groups: listOf(value('groups')) }
}

const given = <Name extends string>(name: Name, value: string | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { [key in Name]?: string }
