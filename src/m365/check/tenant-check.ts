// Asks a tenant whether it is set up for what a runbook does: rights, Exchange roles, relationship, endpoint, scope group, licences, domains.
// Only reads. One line per check, and each that is not ok says what to do.

import { messageOf } from '../../base/errors/errors.ts'
import { countText } from '../../base/text/count-text.ts'
import type { JsonObject } from '../../base/text/json.ts'
import type { WorkerFunction } from '../../worker/functions/catalogue.ts'
import { ApiError } from '../../worker/http/api.ts'
import type { ConnectedTenant } from '../client/connect.ts'
import { textOf } from '../functions/entra/entra-directory.ts'
import { textsOf } from '../functions/exchange/exchange-recipient.ts'
import { isMoveLicence } from '../functions/moves/move-readiness-gaps.ts'
import { isSameText } from '../functions/parameters.ts'
import { mayChangeAdministrators, missingRights } from './rights.ts'
import { blockFor } from './setup-script.ts'

export interface TenantCheck {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly about: string
  /** What to do; empty when the check passed. */
  readonly advice: string
}

/** What the tenant is to be used for. */
export interface TenantPlan {
  /** Of mailbox moves; null leaves their set-up unchecked. */
  readonly side: 'source' | 'target' | null
  /** Id of the other tenant; null when not known. */
  readonly partner: string | null
  /** Groups whose members the runbook wants in the scope. */
  readonly scopeGroups: readonly string[]
  readonly functions: readonly WorkerFunction[]
  /** Names that the runbook gives; empty without one. */
  readonly endpoints: readonly string[]
  readonly deliveryDomains: readonly string[]
  /** SKU ids or part numbers. */
  readonly licences: readonly string[]
  /** Null when not known. */
  readonly people: number | null
}

type Outcome = Omit<TenantCheck, 'name'>
const ok = (about: string): Outcome => ({ state: 'ok', about, advice: '' })
const failed = (about: string, advice: string): Outcome => ({ state: 'failed', about, advice })
const warning = (about: string, advice: string): Outcome => ({ state: 'warning', about, advice })

interface Ask {
  readonly tenant: ConnectedTenant
  readonly plan: TenantPlan
  readonly signal: AbortSignal
}

export async function checkTenant(ask: Ask): Promise<TenantCheck[]> {
  const checks = await checksOf(ask)
  return checks.map((one) => {
    const number = one.state === 'ok' ? null : blockFor(one.name, ask.plan.side)
    if (number === null) return one
    return { ...one, advice: `${one.advice} Block ${number} of --script does it.` }
  })
}

async function checksOf(ask: Ask): Promise<TenantCheck[]> {
  const signIn = await signInChecks(ask)
  if (signIn.some(({ name, state }) => name === 'sign-in' && state === 'failed')) return signIn
  const { side } = ask.plan
  const exchange = await exchangeChecks(ask)
  const canAsk = exchange.every(({ state }) => state !== 'failed')
  return [
    ...signIn,
    ...exchange,
    ...(canAsk ? await checked('domains', () => domainChecks(ask)) : []),
    ...(canAsk ? await checked('forwarding', () => forwardingChecks(ask)) : []),
    ...(canAsk && side ? await checked('organisation relationship', () => relationships(ask)) : []),
    ...(canAsk && side === 'target'
      ? await checked('migration endpoint', () => endpoints(ask))
      : []),
    ...(await checked('licences', () => licenceChecks(ask))),
  ]
}

/** A refused call is a line of the answer, not the end of it. */
async function checked(name: string, check: () => Promise<TenantCheck[]>): Promise<TenantCheck[]> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const advice = 'Grant the app the right to read it, or look yourself.'
    return [{ name, ...warning(`cannot be read: ${error.message}`, advice) }]
  }
}

async function signInChecks({ tenant, plan }: Ask): Promise<TenantCheck[]> {
  const name = 'sign-in'
  try {
    const rights = await tenant.signIn()
    const signedIn = { name, ...ok(`the app signs in to ${tenant.organization}`) }
    const over = administratorChecks(plan.functions, rights)
    return [signedIn, ...rightChecks(plan.functions, rights), ...over]
  } catch (error) {
    const advice =
      'Check MATOOLKIT_TENANT_ID, MATOOLKIT_APP_ID and the credential; see docs/operating.md.'
    return [{ name, ...failed(messageOf(error), advice) }]
  }
}

const NAMES_SHOWN = 3
const some = (names: readonly string[]): string =>
  names.length <= NAMES_SHOWN
    ? names.join(', ')
    : `${names.slice(0, NAMES_SHOWN).join(', ')} and ${names.length - NAMES_SHOWN} more`

function rightChecks(
  functions: readonly WorkerFunction[],
  rights: Awaited<ReturnType<ConnectedTenant['signIn']>>,
): TenantCheck[] {
  if (rights.graph === null || rights.exchange === null) {
    const advice = 'Compare the permissions of the app with docs/reference/functions.md.'
    return [{ name: 'permissions', ...warning('the tokens do not show them', advice) }]
  }
  const missing = [...missingRights(functions, rights)]
  if (missing.length === 0)
    return [{ name: 'permissions', ...ok(`enough for ${countText(functions.length, 'function')}`) }]
  return missing.map(([right, names]) => ({
    name: `permission ${right}`,
    ...failed(
      `missing; needed by ${some(names)}`,
      `Add the application permission ${right} to the app and grant admin consent.`,
    ),
  }))
}

/** Not a fault: most apps should not have such a role. Source: "Who can perform sensitive actions" (learn.microsoft.com/graph/api/resources/users). */
function administratorChecks(
  functions: readonly WorkerFunction[],
  rights: Awaited<ReturnType<ConnectedTenant['signIn']>>,
): TenantCheck[] {
  const guarded = functions.filter(({ isSensitive }) => isSensitive).map(({ name }) => name)
  const may = mayChangeAdministrators(rights)
  if (guarded.length === 0 || may === null) return []
  const about = may
    ? 'the app may change people with admin roles'
    : `${some(guarded)} fail with 403 for people with admin roles: change those by hand, or assign Privileged Authentication Administrator to the app`
  return [{ name: 'administrators', ...ok(about) }]
}

const FORWARDING = 'Set-ExchangeForwarding'

/** Source: Set-HostedOutboundSpamFilterPolicy, AutoForwardingMode. */
async function forwardingChecks({ tenant, plan, signal }: Ask): Promise<TenantCheck[]> {
  if (!plan.functions.some(({ name }) => name === FORWARDING)) return []
  const found = await tenant.exchange.run('Get-HostedOutboundSpamFilterPolicy', {}, { signal })
  const modes = found.map((one) => textOf(one.AutoForwardingMode))
  const about = `forwarding to others: ${found.map((one, at) => `${textOf(one.Name)} ${modes[at]}`).join(', ')}`
  const advice =
    'For the people who move, make an outbound spam policy with AutoForwardingMode On; else each forwarded mail bounces with 550 5.7.520.'
  const has = (mode: string) => modes.some((one) => isSameText(one, mode))
  const line = has('On')
    ? ok(about)
    : has('Automatic')
      ? warning(`${about}, which means Off in most tenants`, advice)
      : failed(about, advice)
  return [{ name: 'forwarding', ...line }]
}

const ADMINISTRATOR = 'Exchange Administrator'

/** The role is not in the token: only a cmdlet tells. */
async function exchangeChecks({ tenant, plan, signal }: Ask): Promise<TenantCheck[]> {
  const used = plan.functions.flatMap(({ permissions }) => permissions.exchange ?? [])
  if (used.length === 0 && plan.side === null) return []
  const cmdlets = ['Get-OrganizationConfig']
  if (used.includes(ADMINISTRATOR)) cmdlets.push('Get-MigrationEndpoint')
  const name = 'Exchange role'
  for (const cmdlet of cmdlets) {
    try {
      await tenant.exchange.run(cmdlet, {}, { signal })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return [{ name, ...failed(`${cmdlet}: ${error.message}`, exchangeAdvice(error, cmdlets)) }]
    }
  }
  return [{ name, ...ok(`${cmdlets.join(' and ')} are allowed`.replace(/^(\S+) are/, '$1 is')) }]
}

/** App-only access to Exchange (learn.microsoft.com, app-only-auth-powershell-v2). That a missing service principal gives 401 was observed. */
function exchangeAdvice({ status }: ApiError, cmdlets: readonly string[]): string {
  if (status === 401)
    return 'Register the app in Exchange (New-ServicePrincipal with its AppId and ObjectId), then wait some minutes.'
  const role = cmdlets.length > 1 ? ADMINISTRATOR : 'Exchange Recipient Administrator'
  return `Assign the Entra role ${role} to the app. It takes effect within an hour.`
}

async function domainChecks({ tenant, plan, signal }: Ask): Promise<TenantCheck[]> {
  const found = await tenant.exchange.run('Get-AcceptedDomain', {}, { signal })
  const domains = found.map(({ DomainName }) => textOf(DomainName).toLowerCase())
  const wanted = [...new Set([tenant.organization, ...plan.deliveryDomains])]
  const missing = wanted.filter((one) => !domains.includes(one.toLowerCase()))
  if (missing.length === 0) return [{ name: 'domains', ...ok(domains.join(', ')) }]
  return missing.map((one) => ({
    name: `domain ${one}`,
    ...failed(
      `not an accepted domain of this tenant, which has ${domains.join(', ')}`,
      isSameText(one, tenant.organization)
        ? 'Correct MATOOLKIT_ORGANIZATION or MATOOLKIT_TENANT_ID.'
        : 'Correct TargetDeliveryDomain in the runbook, or add the domain.',
    ),
  }))
}

const PAGE = 'see "Cross-tenant mailbox migration" on learn.microsoft.com'

/** Both tenants name each other. Source: cross-tenant-mailbox-migration, "Create a new organization relationship". */
async function relationships(ask: Ask): Promise<TenantCheck[]> {
  const name = 'organisation relationship'
  const { tenant, plan, signal } = ask
  const wanted = plan.side === 'source' ? 'RemoteOutbound' : 'Inbound'
  const all = await tenant.exchange.run('Get-OrganizationRelationship', {}, { signal })
  const isFitting = (one: JsonObject) =>
    one.Enabled === true &&
    one.MailboxMoveEnabled === true &&
    // Several capabilities come as a list or as one text with commas.
    (textsOf(one.MailboxMoveCapability).join(',') || textOf(one.MailboxMoveCapability))
      .split(/[,\s]+/)
      .some((given) => isSameText(given, wanted))
  const { partner } = plan
  const isPartner = (one: JsonObject) =>
    partner === null || textsOf(one.DomainNames).some((name) => isSameText(name, partner))
  const fitting = all.filter((one) => isFitting(one) && isPartner(one))
  if (fitting.length === 0) {
    const whose = partner === null ? '' : ` with tenant ${partner}`
    const about = `none of ${countText(all.length, 'relationship')} allows moves (${wanted})${whose}`
    const other = plan.side === 'source' ? 'target' : 'source'
    const advice = `Run New- or Set-OrganizationRelationship with -Enabled $true -MailboxMoveEnabled $true -MailboxMoveCapability ${wanted} -DomainNames <id of the ${other} tenant>; ${PAGE}.`
    return [{ name, ...failed(about, advice) }]
  }
  const names = fitting.map((one) => textOf(one.Name) || textOf(one.Identity))
  const about = `${names.join(', ')} (${wanted})`
  const line = { name, ...ok(partner === null ? `${about}; --partner compares the tenant` : about) }
  return plan.side === 'source' ? [line, ...(await scopes(ask, fitting))] : [line]
}

async function scopes({ tenant, signal }: Ask, fitting: readonly JsonObject[]) {
  const lines: TenantCheck[] = []
  for (const one of fitting) {
    const relationship = textOf(one.Name)
    const groups = textsOf(one.MailboxMovePublishedScopes)
    if (textOf(one.OAuthApplicationId) === '')
      lines.push({
        name: 'migration app',
        ...failed(
          `"${relationship}" names no app`,
          `Consent to the app of the target tenant, then Set-OrganizationRelationship -OAuthApplicationId <its id>; ${PAGE}.`,
        ),
      })
    if (groups.length === 0)
      lines.push({
        name: 'scope group',
        ...failed(
          `"${relationship}" publishes no one`,
          'Make a mail-enabled security group of the people who move, then Set-OrganizationRelationship -MailboxMovePublishedScopes <group>.',
        ),
      })
    for (const group of groups) lines.push(await scopeGroup({ tenant, signal }, group))
  }
  return lines
}

async function scopeGroup(
  { tenant, signal }: Pick<Ask, 'tenant' | 'signal'>,
  group: string,
): Promise<TenantCheck> {
  const name = 'scope group'
  try {
    const [found] = await tenant.exchange.run(
      'Get-DistributionGroup',
      { Identity: group },
      { signal },
    )
    const type = textOf(found?.RecipientTypeDetails)
    if (isSameText(type, 'MailUniversalSecurityGroup')) return { name, ...ok(group) }
    const advice = 'Publish a mail-enabled security group instead.'
    return { name, ...failed(`"${group}" is a ${type || 'different kind of group'}`, advice) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { name, ...failed(error.message, 'Publish a group that exists.') }
  }
}

async function endpoints({ tenant, plan, signal }: Ask): Promise<TenantCheck[]> {
  const found = await tenant.exchange.run('Get-MigrationEndpoint', {}, { signal })
  const names = found.map(({ Identity }) => textOf(Identity))
  const missing = plan.endpoints.filter((one) => !names.some((other) => isSameText(one, other)))
  const make = `Make it with New-MigrationEndpoint -ExchangeRemoteMove -RemoteTenant <source> -ApplicationId <app>; ${PAGE}.`
  if (names.length === 0) return [{ name: 'migration endpoint', ...failed('there is none', make) }]
  const lines = missing.map((one) => ({
    name: `migration endpoint ${one}`,
    ...failed(
      `not found; the tenant has ${names.join(', ')}`,
      `Correct the runbook, or make it: ${make}`,
    ),
  }))
  const used =
    plan.endpoints.length > 0 ? plan.endpoints.filter((one) => !missing.includes(one)) : names
  for (const one of used) lines.push(await reach({ tenant, signal }, one))
  return lines
}

/** "How do I know this worked?" of the same page. Without a test mailbox: whether Exchange takes that is unconfirmed. */
async function reach(
  { tenant, signal }: Pick<Ask, 'tenant' | 'signal'>,
  Endpoint: string,
): Promise<TenantCheck> {
  const name = `migration endpoint ${Endpoint}`
  try {
    const [answer] = await tenant.exchange.run(
      'Test-MigrationServerAvailability',
      { Endpoint },
      { signal },
    )
    if (isSameText(textOf(answer?.Result), 'Success'))
      return { name, ...ok('reaches the source tenant') }
    const why = textOf(answer?.Message) || 'it cannot reach the source tenant'
    return {
      name,
      ...failed(why, `Check the consent and the secret of the migration app; ${PAGE}.`),
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const advice = `Test it with a mailbox: Test-MigrationServerAvailability -Endpoint ${Endpoint} -TestMailbox <address>.`
    return { name, ...warning(`exists; its test was refused: ${error.message}`, advice) }
  }
}

const SKUS_UNITS = 3

async function licenceChecks({ tenant, plan, signal }: Ask): Promise<TenantCheck[]> {
  const skus: JsonObject[] = []
  for await (const sku of tenant.graph.list({ path: '/subscribedSkus', signal, units: SKUS_UNITS }))
    skus.push(sku)
  const lines = plan.licences.map((wanted) => {
    const names = (sku: JsonObject) => [textOf(sku.skuId), textOf(sku.skuPartNumber)]
    const sku = skus.find((one) => names(one).some((name) => isSameText(name, wanted)))
    return { name: `licence ${wanted}`, ...leftOf(sku, plan.people) }
  })
  const isMoveAsked = plan.side === 'target' && !plan.licences.some(isMoveLicence)
  if (!isMoveAsked) return lines
  const move = skus.find((sku) => isMoveLicence(textOf(sku.skuPartNumber)) || hasMovePlan(sku))
  const name = 'licence Cross Tenant User Data Migration'
  // It may be assigned in either tenant.
  const line = move
    ? leftOf(move, plan.people)
    : warning('not in this tenant', 'Buy it, or assign it to the people in the source tenant.')
  return [...lines, { name, ...line }]
}

const hasMovePlan = ({ servicePlans }: JsonObject): boolean =>
  (Array.isArray(servicePlans) ? (servicePlans as JsonObject[]) : []).some((plan) =>
    isMoveLicence(textOf(plan.servicePlanName)),
  )

function leftOf(sku: JsonObject | undefined, people: number | null): Outcome {
  if (!sku) return failed('the tenant has none', 'Buy it, or correct SkuId in the runbook.')
  const enabled = Number((sku.prepaidUnits as JsonObject | null)?.enabled ?? 0)
  const left = enabled - Number(sku.consumedUnits ?? 0)
  const about = `${left.toLocaleString('en')} of ${enabled.toLocaleString('en')} left`
  if (people === null)
    return left > 0 ? ok(about) : warning(about, 'Buy more before people need them.')
  if (left >= people) return ok(`${about} for ${countText(people, 'person', 'people')}`)
  return failed(
    `${about} for ${countText(people, 'person', 'people')}`,
    `Buy ${countText(people - left, 'more licence', 'more licences')}; people who have one already do not count again.`,
  )
}
