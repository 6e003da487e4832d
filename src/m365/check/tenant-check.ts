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
import { type GrantedRights, mayChangeAdministrators, missingRights } from './rights.ts'
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

const ok = (name: string, about: string): TenantCheck => ({ name, state: 'ok', about, advice: '' })
const line =
  (state: TenantCheck['state']) =>
  (name: string, about: string, advice: string): TenantCheck => ({ name, state, about, advice })
const failed = line('failed')
const warning = line('warning')

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
    ...(canAsk ? await checked('domains', domainChecks(ask)) : []),
    ...(canAsk ? await checked('forwarding', forwardingChecks(ask)) : []),
    ...(canAsk && side ? await checked('organisation relationship', relationships(ask)) : []),
    ...(canAsk && side === 'target' ? await checked('migration endpoint', endpoints(ask)) : []),
    ...(canAsk && side ? await checked('organisation customisation', customised(ask)) : []),
    ...(await checked(ACCESS_PASSES, accessPassChecks(ask))),
    ...(await checked('licences', licenceChecks(ask))),
  ]
}

/** A refused call is a line of the answer, not the end of it. */
async function unlessRefused<T>(asked: Promise<T>, told: (error: ApiError) => T): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiError) return told(error)
    throw error
  }
}

const checked = (name: string, check: Promise<TenantCheck[]>): Promise<TenantCheck[]> =>
  unlessRefused(check, ({ message }) => {
    const advice = 'Grant the app the right to read it, or look yourself.'
    return [warning(name, `cannot be read: ${message}`, advice)]
  })

const run = ({ tenant, signal }: Ask, cmdlet: string, parameters: JsonObject = {}) =>
  tenant.exchange.run(cmdlet, parameters, { signal })

async function signInChecks({ tenant, plan }: Ask): Promise<TenantCheck[]> {
  const name = 'sign-in'
  try {
    const rights = await tenant.signIn()
    const signedIn = ok(name, `the app signs in to ${tenant.organization}`)
    const over = administratorChecks(plan.functions, rights)
    return [signedIn, ...rightChecks(plan.functions, rights), ...over]
  } catch (error) {
    const advice =
      'Check MATOOLKIT_TENANT_ID, MATOOLKIT_APP_ID and the credential; see docs/operating.md.'
    return [failed(name, messageOf(error), advice)]
  }
}

const NAMES_SHOWN = 3
const some = (names: readonly string[]): string =>
  names.length <= NAMES_SHOWN
    ? names.join(', ')
    : `${names.slice(0, NAMES_SHOWN).join(', ')} and ${names.length - NAMES_SHOWN} more`

function rightChecks(functions: readonly WorkerFunction[], rights: GrantedRights): TenantCheck[] {
  if (rights.graph === null || rights.exchange === null) {
    const advice = 'Compare the permissions of the app with docs/reference/functions.md.'
    return [warning('permissions', 'the tokens do not show them', advice)]
  }
  const missing = [...missingRights(functions, rights)]
  if (missing.length === 0)
    return [ok('permissions', `enough for ${countText(functions.length, 'function')}`)]
  return missing.map(([right, names]) =>
    failed(
      `permission ${right}`,
      `missing; needed by ${some(names)}`,
      `Add the application permission ${right} to the app and grant admin consent.`,
    ),
  )
}

/** Not a fault: most apps should not have such a role. Source: "Who can perform sensitive actions" (learn.microsoft.com/graph/api/resources/users). */
function administratorChecks(
  functions: readonly WorkerFunction[],
  rights: GrantedRights,
): TenantCheck[] {
  const guarded = functions.filter(({ isSensitive }) => isSensitive).map(({ name }) => name)
  const may = mayChangeAdministrators(rights)
  if (guarded.length === 0 || may === null) return []
  const about = may
    ? 'the app may change people with admin roles'
    : `${some(guarded)} fail with 403 for people with admin roles: change those by hand, or assign Privileged Authentication Administrator to the app`
  return [ok('administrators', about)]
}

/** Source: Set-HostedOutboundSpamFilterPolicy, AutoForwardingMode. */
async function forwardingChecks(ask: Ask): Promise<TenantCheck[]> {
  if (!ask.plan.functions.some(({ name }) => name === 'Set-ExchangeForwarding')) return []
  const found = await run(ask, 'Get-HostedOutboundSpamFilterPolicy')
  const modes = found.map((one) => textOf(one.AutoForwardingMode))
  const about = `forwarding to others: ${found.map((one, at) => `${textOf(one.Name)} ${modes[at]}`).join(', ')}`
  const advice =
    'For the people who move, make an outbound spam policy with AutoForwardingMode On; else each forwarded mail bounces with 550 5.7.520.'
  const name = 'forwarding'
  const has = (mode: string) => modes.some((one) => isSameText(one, mode))
  if (has('On')) return [ok(name, about)]
  if (!has('Automatic')) return [failed(name, about, advice)]
  return [warning(name, `${about}, which means Off in most tenants`, advice)]
}

/** A trial tenant begins dehydrated, and refuses to make a relationship then. Source: Enable-OrganizationCustomization. */
async function customised(ask: Ask): Promise<TenantCheck[]> {
  const name = 'organisation customisation'
  const [found] = await run(ask, 'Get-OrganizationConfig')
  if (found?.IsDehydrated !== true) return [ok(name, 'enabled')]
  const advice = 'Run Enable-OrganizationCustomization, then wait some minutes.'
  return [failed(name, 'not enabled yet: IsDehydrated is true', advice)]
}

const ACCESS_PASSES = 'access pass policy'
const ACCESS_PASS_POLICY =
  '/policies/authenticationMethodsPolicy/authenticationMethodConfigurations/TemporaryAccessPass'

/** Source: temporaryAccessPassAuthenticationMethodConfiguration. */
async function accessPassChecks({ tenant, plan, signal }: Ask): Promise<TenantCheck[]> {
  if (!plan.functions.some(({ name }) => name === 'New-EntraTemporaryAccessPass')) return []
  const { body } = await tenant.graph.call({ method: 'GET', path: ACCESS_PASS_POLICY, signal })
  const { state, isUsableOnce, maximumLifetimeInMinutes: most } = body as JsonObject
  const advice = 'Enable access passes that may be used more than once.'
  if (!isSameText(textOf(state), 'enabled'))
    return [failed(ACCESS_PASSES, `they are ${textOf(state)}: each is refused`, advice)]
  if (isUsableOnce !== true)
    return [ok(ACCESS_PASSES, `enabled, more than once, at most ${String(most)} minutes`)]
  return [warning(ACCESS_PASSES, 'a pass works once: not in Outlook and on the phone', advice)]
}

const ADMINISTRATOR = 'Exchange Administrator'

/** The role is not in the token: only a cmdlet tells. Source: app-only-auth-powershell-v2. */
async function exchangeChecks(ask: Ask): Promise<TenantCheck[]> {
  const { plan } = ask
  const used = plan.functions.flatMap(({ permissions }) => permissions.exchange ?? [])
  if (used.length === 0 && plan.side === null) return []
  const cmdlets = ['Get-OrganizationConfig']
  if (used.includes(ADMINISTRATOR)) cmdlets.push('Get-MigrationEndpoint')
  for (const cmdlet of cmdlets) {
    const refusal = await unlessRefused(
      run(ask, cmdlet).then(() => null),
      (error) => error,
    )
    if (refusal === null) continue
    const about = `${cmdlet}: ${refusal.message}`
    const register =
      'Register the app in Exchange (New-ServicePrincipal with its AppId and ObjectId), then wait some minutes.'
    // That a missing service principal gives 401 was observed.
    if (refusal.status === 401) return [failed('Exchange principal', about, register)]
    const role = cmdlets.length > 1 ? ADMINISTRATOR : 'Exchange Recipient Administrator'
    const assign = `Assign the Entra role ${role} to the app. It takes effect within an hour.`
    return [failed('Exchange role', about, assign)]
  }
  return [ok('Exchange role', `allowed: ${cmdlets.join(', ')}`)]
}

async function domainChecks(ask: Ask): Promise<TenantCheck[]> {
  const { tenant, plan } = ask
  const found = await run(ask, 'Get-AcceptedDomain')
  const domains = found.map(({ DomainName }) => textOf(DomainName).toLowerCase())
  const wanted = [...new Set([tenant.organization, ...plan.deliveryDomains])]
  const missing = wanted.filter((one) => !domains.includes(one.toLowerCase()))
  if (missing.length === 0) return [ok('domains', domains.join(', '))]
  return missing.map((one) =>
    failed(
      `domain ${one}`,
      `not an accepted domain of this tenant, which has ${domains.join(', ')}`,
      isSameText(one, tenant.organization)
        ? 'Correct MATOOLKIT_ORGANIZATION or MATOOLKIT_TENANT_ID.'
        : 'Correct TargetDeliveryDomain in the runbook, or add the domain.',
    ),
  )
}

const PAGE = 'see "Cross-tenant mailbox migration" on learn.microsoft.com'

/** Both tenants name each other. Source: cross-tenant-mailbox-migration, "Create a new organization relationship". */
async function relationships(ask: Ask): Promise<TenantCheck[]> {
  const name = 'organisation relationship'
  const { side, partner } = ask.plan
  const wanted = side === 'source' ? 'RemoteOutbound' : 'Inbound'
  const all = await run(ask, 'Get-OrganizationRelationship')
  const isFitting = (one: JsonObject) =>
    one.Enabled === true &&
    one.MailboxMoveEnabled === true &&
    // Several capabilities come as a list or as one text with commas.
    (textsOf(one.MailboxMoveCapability).join(',') || textOf(one.MailboxMoveCapability))
      .split(/[,\s]+/)
      .some((given) => isSameText(given, wanted))
  const isPartner = (one: JsonObject) =>
    partner === null || textsOf(one.DomainNames).some((name) => isSameText(name, partner))
  const fitting = all.filter((one) => isFitting(one) && isPartner(one))
  if (fitting.length === 0) {
    const whose = partner === null ? '' : ` with tenant ${partner}`
    const about = `none of ${countText(all.length, 'relationship')} allows moves (${wanted})${whose}`
    const other = side === 'source' ? 'target' : 'source'
    const advice = `Run New- or Set-OrganizationRelationship with -Enabled $true -MailboxMoveEnabled $true -MailboxMoveCapability ${wanted} -DomainNames <id of the ${other} tenant>; ${PAGE}.`
    return [failed(name, about, advice)]
  }
  const names = fitting.map((one) => textOf(one.Name) || textOf(one.Identity))
  const about = `${names.join(', ')} (${wanted})`
  const line = ok(name, partner === null ? `${about}; --partner compares the tenant` : about)
  return side === 'source' ? [line, ...(await scopes(ask, fitting))] : [line]
}

async function scopes(ask: Ask, fitting: readonly JsonObject[]) {
  const lines: TenantCheck[] = []
  for (const one of fitting) {
    const relationship = textOf(one.Name)
    const groups = textsOf(one.MailboxMovePublishedScopes)
    const app = textOf(one.OAuthApplicationId)
    const consent = `Consent to the app of the target tenant, then Set-OrganizationRelationship -OAuthApplicationId <its id>; ${PAGE}.`
    const publish =
      'Make a mail-enabled security group of the people who move, then Set-OrganizationRelationship -MailboxMovePublishedScopes <group>.'
    if (app) lines.push(ok('migration app', `${app}, as the target's endpoint must name it`))
    else lines.push(failed('migration app', `"${relationship}" names no app`, consent))
    if (groups.length === 0)
      lines.push(failed('scope group', `"${relationship}" publishes no one`, publish))
    for (const group of groups) lines.push(await scopeGroup(ask, group))
  }
  return lines
}

function scopeGroup(ask: Ask, group: string): Promise<TenantCheck> {
  const name = 'scope group'
  const found = run(ask, 'Get-DistributionGroup', { Identity: group }).then(([one]) => {
    const type = textOf(one?.RecipientTypeDetails)
    if (isSameText(type, 'MailUniversalSecurityGroup')) return ok(name, group)
    const advice = 'Publish a mail-enabled security group instead.'
    return failed(name, `"${group}" is a ${type || 'different kind of group'}`, advice)
  })
  return unlessRefused(found, ({ message }) =>
    failed(name, message, 'Publish a group that exists.'),
  )
}

async function endpoints(ask: Ask): Promise<TenantCheck[]> {
  const wanted = ask.plan.endpoints
  const found = await run(ask, 'Get-MigrationEndpoint')
  const names = found.map(({ Identity }) => textOf(Identity))
  const make = `Make it with New-MigrationEndpoint -ExchangeRemoteMove -RemoteTenant <source> -ApplicationId <app>; ${PAGE}.`
  if (names.length === 0) return [failed('migration endpoint', 'there is none', make)]
  const has = (all: readonly string[], name: string) => all.some((one) => isSameText(one, name))
  const lines = wanted
    .filter((one) => !has(names, one))
    .map((one) => {
      const about = `not found; the tenant has ${names.join(', ')}`
      return failed(`migration endpoint ${one}`, about, `Correct the runbook, or make it: ${make}`)
    })
  const used = found.filter((_, at) => wanted.length === 0 || has(wanted, names[at]!))
  for (const one of used) lines.push(await reach(ask, one))
  return lines
}

/** "How do I know this worked?" of the same page. Without a test mailbox: whether Exchange takes that is unconfirmed. */
async function reach(ask: Ask, one: JsonObject): Promise<TenantCheck> {
  const Endpoint = textOf(one.Identity)
  const name = `migration endpoint ${Endpoint}`
  const [app, source] = [textOf(one.ApplicationId), textOf(one.RemoteTenant)]
  if (one.ApplicationId !== undefined && app === '')
    return failed(name, 'names no migration app', `Remove it, and make it with one; ${PAGE}.`)
  const tested = run(ask, 'Test-MigrationServerAvailability', { Endpoint }).then(([answer]) => {
    if (isSameText(textOf(answer?.Result), 'Success'))
      return ok(name, `reaches ${source || 'the source tenant'} with app ${app || 'unknown'}`)
    const why = `${textOf(answer?.Message) || 'it cannot reach the source tenant'} (${source}, app ${app})`
    const advice = `Check that the source names this app, its consent and its secret; ${PAGE}.`
    return failed(name, why, advice)
  })
  return unlessRefused(tested, ({ message }) => {
    const advice = `Test it with a mailbox: Test-MigrationServerAvailability -Endpoint ${Endpoint} -TestMailbox <address>.`
    return warning(name, `exists; its test was refused: ${message}`, advice)
  })
}

const SKUS_UNITS = 3

async function licenceChecks({ tenant, plan, signal }: Ask): Promise<TenantCheck[]> {
  const skus: JsonObject[] = []
  for await (const sku of tenant.graph.list({ path: '/subscribedSkus', signal, units: SKUS_UNITS }))
    skus.push(sku)
  const lines = plan.licences.map((wanted) => {
    const names = (sku: JsonObject) => [textOf(sku.skuId), textOf(sku.skuPartNumber)]
    const sku = skus.find((one) => names(one).some((name) => isSameText(name, wanted)))
    return leftOf(`licence ${wanted}`, sku, plan.people)
  })
  const isMoveAsked = plan.side === 'target' && !plan.licences.some(isMoveLicence)
  if (!isMoveAsked) return lines
  const move = skus.find((sku) => isMoveLicence(textOf(sku.skuPartNumber)) || hasMovePlan(sku))
  const name = 'licence Cross Tenant User Data Migration'
  if (move) return [...lines, leftOf(name, move, plan.people)]
  // It may be assigned in either tenant.
  const advice = 'Buy it, or assign it to the people in the source tenant.'
  return [...lines, warning(name, 'not in this tenant', advice)]
}

const hasMovePlan = ({ servicePlans }: JsonObject): boolean =>
  (Array.isArray(servicePlans) ? (servicePlans as JsonObject[]) : []).some((plan) =>
    isMoveLicence(textOf(plan.servicePlanName)),
  )

function leftOf(name: string, sku: JsonObject | undefined, people: number | null): TenantCheck {
  if (!sku) return failed(name, 'the tenant has none', 'Buy it, or correct SkuId in the runbook.')
  const enabled = Number((sku.prepaidUnits as JsonObject | null)?.enabled ?? 0)
  const left = enabled - Number(sku.consumedUnits ?? 0)
  const forWhom = people === null ? '' : ` for ${countText(people, 'person', 'people')}`
  const about = `${left.toLocaleString('en')} of ${enabled.toLocaleString('en')} left${forWhom}`
  if (left >= (people ?? 1)) return ok(name, about)
  if (people === null) return warning(name, about, 'Buy more before people need them.')
  const more = countText(people - left, 'more licence', 'more licences')
  return failed(name, about, `Buy ${more}; people who have one already do not count again.`)
}
