// The tenants that a runbook expects: what its steps name and do not create.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stateOf } from '../../../sandbox/seed.ts'
import { DEFAULT_CLIENT_ID } from '../../../sandbox/state.ts'
import {
  expectedTenants,
  labelOf,
  NAMED_BY_PARAMETER,
} from '../../../src/app/rehearsal/expected-tenants.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { parametersSchema } from '../../../src/worker/functions/catalogue.ts'
import { example } from './rehearsing.ts'

const tenantsOf = (yaml: string, rows: readonly Record<string, string>[]) =>
  stateOf(expectedTenants(readRunbook(yaml).runbook!, rows)).tenants

describe('expected tenants', () => {
  const PERSON = {
    UserPrincipalName: 'ada@fabrikam.example',
    SourceObjectId: '9df6ab8b-ba18-4a02-9906-87b99a870d8f',
    DisplayName: 'Ada Adler',
    Department: 'Sales',
    MailNickname: 'ada',
    TargetUpn: 'ada@contoso.example',
    CutoverTime: '2030-03-01T20:00:00Z',
  }

  it('have people with their ids and mailboxes where steps look for them, and not where steps create them', () => {
    const tenants = tenantsOf(example('full-migration.yaml'), [PERSON])
    const [contoso, fabrikam] = tenants
    assert.deepEqual(
      tenants.map(({ displayName }) => displayName),
      ['contoso', 'fabrikam'],
    )
    const [ada, ...others] = fabrikam!.users
    assert.deepEqual(others, [])
    assert.deepEqual(
      [ada!.id, ada!.userPrincipalName, ada!.displayName, ada!.recipient?.kind],
      [PERSON.SourceObjectId, PERSON.UserPrincipalName, 'Ada Adler', 'mailbox'],
    )
    assert.deepEqual(contoso!.users.map(({ userPrincipalName }) => userPrincipalName).sort(), [
      'integration.lead@contoso.example',
      'migration@contoso.example',
    ])
    assert.ok(contoso!.domains.includes('contoso.example'))
    assert.ok(!contoso!.domains.includes('fabrikam.example'))
  })

  it('have groups, with the members that steps expect and none that steps add', () => {
    const [contoso, fabrikam] = tenantsOf(example('full-migration.yaml'), [PERSON])
    assert.deepEqual(
      fabrikam!.groups.map(({ mail, members }) => [mail, members]),
      [['migration-scope@fabrikam.example', [PERSON.SourceObjectId]]],
    )
    assert.deepEqual(
      contoso!.groups.map(({ id, members }) => [id, members]),
      [['6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10', []]],
    )
    assert.deepEqual(contoso!.migrationEndpoints, [
      {
        name: 'fabrikam',
        remoteTenant: 'fabrikam.example',
        applicationId: DEFAULT_CLIENT_ID,
      },
    ])
  })

  it('do not verify a domain that hardly any created name has', () => {
    const rows = Array.from({ length: 30 }, (_, at) => ({
      UserPrincipalName: `p${at}@contoso.example`,
      TargetUpn: `p${at}@${at === 7 ? 'fabricam' : 'fabrikam'}.example`,
    }))
    const [fabrikam] = tenantsOf(example('first-migration.yaml'), rows)
    assert.deepEqual(fabrikam!.domains, ['fabrikam.example', 'fabrikam.onmicrosoft.com'])
  })

  it('are named after their workers', () => {
    assert.deepEqual(['contoso-worker', 'Contoso', 'cloud_worker.eu'].map(labelOf), [
      'contoso',
      'contoso',
      'cloud-worker-eu',
    ])
  })
})

/** Parameters that name no object which a tenant must have before the runbook starts, by the reason. */
const NAMES_NOTHING: Readonly<Record<string, readonly string[]>> = {
  'a value that the step writes or compares': [
    'AccessRight',
    'Alias',
    'ArchiveGuid',
    'ArchiveSizeBytes',
    'AttributeName',
    'Attributes',
    'AuxiliaryArchives',
    'DisplayName',
    'ExchangeGuid',
    'ExpectedValue',
    'FirstName',
    'Holds',
    'IfStill',
    'LastName',
    'MailNickname',
    'OnPremisesImmutableId',
    'OrganizationHolds',
    'Password',
    'RecoverableBytes',
    'Names',
    'Secret',
    'SourceAddresses',
    'State',
    'Type',
    'UsageLocation',
    'Value',
    'X500Addresses',
  ],
  'a choice, a limit or a switch': [
    'AccountEnabled',
    'AllowExisting',
    'ApproveSkippedItems',
    'AutoMapping',
    'AutoStart',
    'DeliverToMailboxAndForward',
    'DropFormer',
    'Enabled',
    'Expected',
    'ExternalAudience',
    'ForceChangePasswordNextSignIn',
    'Hidden',
    'InvitedUserType',
    'IsLicensedAtSource',
    'IsMultiValue',
    'IsUsableOnce',
    'LifetimeInMinutes',
    'Limit',
    'SaveToSentItems',
    'SendInvitationMessage',
    'SizeBytes',
    'TellsTime',
    'WaitFor',
    'Workloads',
  ],
  'a time': [
    'CompleteAfter',
    'CorrectsTime',
    'EndTime',
    'PreferredLatestStartDateTime',
    'PreferredStartDateTime',
    'StartDateTime',
    'StartTime',
  ],
  'a text for people, or where it goes': [
    'Body',
    'ContentType',
    'CustomizedMessageBody',
    'ExternalMessage',
    'InternalMessage',
    'InviteRedirectUrl',
    'Language',
    'Message',
    'MessageId',
    'Subject',
    'To',
    'WebhookUrl',
  ],
  'an object that another step makes': ['BatchName', 'JobId', 'Name'],
  'part of a licence': ['DisabledPlans', 'Plans'],
  'a domain to take away, or the one instead: the people of the step have it': [
    'Domain',
    'NewDomain',
  ],
  'an address that a person of the step has or gets, or one outside': [
    'EmailAddresses',
    'ExternalEmailAddress',
    'ForwardingSmtpAddress',
  ],
  'somebody or something of the other tenant': [
    'SourceTenantId',
    'TargetOrganizationHost',
    'TargetUserPrincipalName',
  ],
}

describe('every parameter of a standard function', () => {
  const parameters = [
    ...new Set(
      STANDARD_FUNCTIONS.flatMap((one) =>
        Object.keys((parametersSchema(one).properties ?? {}) as object),
      ),
    ),
  ]
  const nothing = Object.values(NAMES_NOTHING).flat()

  it('is known to name a person, a group or another object, or to name none', () => {
    const unknown = parameters.filter(
      (name) => !Object.hasOwn(NAMED_BY_PARAMETER, name) && !nothing.includes(name),
    )
    assert.deepEqual(
      unknown,
      [],
      'say in NAMED_BY_PARAMETER (src/app/rehearsal/expected-tenants.ts) what it names, or in NAMES_NOTHING why a rehearsal needs nothing for it',
    )
  })

  it('is listed once, and only while a function has it', () => {
    const listed = [...Object.keys(NAMED_BY_PARAMETER), ...nothing]
    assert.deepEqual(listed.sort(), parameters.toSorted())
  })
})

describe('a rehearsal', () => {
  it('has the people whom any parameter of a person names', () => {
    const person = Object.entries(NAMED_BY_PARAMETER)
      .filter(([, named]) => named === 'person' || named === 'member')
      .map(([key]) => key)
    const params = person.map((key) => `          ${key}: ${key.toLowerCase()}@contoso.example`)
    const [tenant] = tenantsOf(
      `name: people
data_source:
  type: csv
  path: people.csv
  primary_key: UserPrincipalName
  batch_time: immediate
phases:
  - name: first
    offset: T-1d
    steps:
      - name: step
        worker_id: contoso-worker
        function: Set-ExchangeAnything
        params:
${params.join('\n')}
`,
      [{ UserPrincipalName: 'ada@fabrikam.example' }],
    )
    assert.deepEqual(
      tenant!.users.map(({ userPrincipalName }) => userPrincipalName).sort(),
      person.map((key) => `${key.toLowerCase()}@contoso.example`).sort(),
    )
  })
})
