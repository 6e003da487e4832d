// The calls whose answers no document settles (docs/reference/functions.md, "Unconfirmed"), as far as reading asks them. Nothing here changes a
// tenant: only GET, Get- and Test-.
import type { JsonObject } from '../../base/text/json.ts'
import type { TenantPlan } from './tenant-check.ts'

export interface Probe {
  /** Which question it answers. */
  readonly settles: string
  /** `missing`: the object that it asks for does not exist. */
  readonly asks: 'missing' | 'found'
  readonly cmdlet?: { readonly name: string; readonly parameters: JsonObject }
  readonly graph?: { readonly template: string; readonly path: string }
  /** The name that is asked for; a recording shows a placeholder. */
  readonly identity: string | null
}

export interface ProbePlan extends Pick<TenantPlan, 'side' | 'endpoints'> {
  readonly organization: string
  /** Whose properties may be read; null reads nobody in particular. */
  readonly person: string | null
}

const NO_GUID = '00000000-0000-4000-8000-0000000c4ec4'
/** Enough to see which properties come in which form. */
const FEW = 5

const NOT_FOUND = 'how a missing object is answered'

export function probesOf(plan: ProbePlan): Probe[] {
  const nobody = `matoolkit-check-nobody@${plan.organization}`
  const missing = (name: string, identity = nobody): Probe =>
    cmdlet(NOT_FOUND, 'missing', name, { Identity: identity }, identity)
  return [
    ...['Get-Recipient', 'Get-MailUser', 'Get-Mailbox', 'Get-User'].map((name) => missing(name)),
    missing('Get-DistributionGroup'),
    missing('Get-DistributionGroupMember'),
    missing('Get-MigrationUser'),
    missing('Get-MigrationBatch', 'matoolkit-check-nothing'),
    graph(NOT_FOUND, 'missing', '/users/{user}', `/users/${nobody}`, nobody),
    graph(NOT_FOUND, 'missing', '/groups/{group}', `/groups/${NO_GUID}`, NO_GUID),
    ...tenantProbes(plan),
    ...(plan.person === null ? [] : personProbes(plan.person, plan)),
  ]
}

const tenantProbes = ({ side, endpoints }: ProbePlan): Probe[] => [
  cmdlet('forms of the relationship', 'found', 'Get-OrganizationRelationship', {}),
  cmdlet('forms of domains', 'found', 'Get-AcceptedDomain', {}),
  cmdlet('how a deleted mail user is named', 'found', 'Get-MailUser', {
    SoftDeletedMailUser: true,
    ResultSize: FEW,
  }),
  cmdlet('forms of batches', 'found', 'Get-MigrationBatch', {}),
  cmdlet('states of mailbox moves, licence included', 'found', 'Get-MigrationUser', {
    ResultSize: FEW,
  }),
  graph('names of the licence for moves', 'found', '/subscribedSkus', '/subscribedSkus'),
  ...(side === 'source' ? [] : [cmdlet('endpoints', 'found', 'Get-MigrationEndpoint', {})]),
  ...endpoints.map((Endpoint) =>
    cmdlet('a test without a mailbox', 'found', TEST_CONNECTION, { Endpoint }),
  ),
]

const TEST_CONNECTION = 'Test-MigrationServerAvailability'

/** All about one mailbox or mail user; whichever it is not is one more missing object. */
function personProbes(person: string, { endpoints }: ProbePlan): Probe[] {
  const read = (settles: string, name: string, more: JsonObject = {}): Probe =>
    cmdlet(settles, 'found', name, { Identity: person, ...more }, person)
  return [
    read('forms of a recipient', 'Get-Recipient'),
    read('hold of a mail user', 'Get-MailUser'),
    read('who may send on behalf', 'Get-Mailbox'),
    read('forms of a user', 'Get-User'),
    read('forms of sizes', 'Get-MailboxStatistics'),
    read('zone of automatic replies', 'Get-MailboxAutoReplyConfiguration'),
    read('names in permissions', 'Get-MailboxPermission'),
    read('names in permissions', 'Get-RecipientPermission'),
    read('names of folders', 'Get-MailboxFolderStatistics', { FolderScope: 'Calendar' }),
    read('forms of a mailbox move', 'Get-MigrationUser'),
    graph(
      'whether an app may read them',
      'found',
      '/users/{user}/licenseDetails',
      `/users/${encodeURIComponent(person)}/licenseDetails`,
      person,
    ),
    ...endpoints.map((Endpoint) =>
      cmdlet(
        'a test with a mailbox',
        'found',
        TEST_CONNECTION,
        { Endpoint, TestMailbox: person },
        person,
      ),
    ),
  ]
}

const cmdlet = (
  settles: string,
  asks: Probe['asks'],
  name: string,
  parameters: JsonObject,
  identity: string | null = null,
): Probe => ({ settles, asks, cmdlet: { name, parameters }, identity })

const graph = (
  settles: string,
  asks: Probe['asks'],
  template: string,
  path: string,
  identity: string | null = null,
): Probe => ({ settles, asks, graph: { template, path }, identity })
