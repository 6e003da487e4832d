// The PowerShell that prepares one side of a migration, with this migration's values: printed for an administrator to read and run, never run
// here. Commands and their order are those of "Cross-tenant mailbox migration" (learn.microsoft.com; MicrosoftDocs/microsoft-365-docs,
// 2022-06-20, without Key Vault), of New-MgServicePrincipalAppRoleAssignment and of Set-SPOCrossTenantRelationship; none was run by us.
// Blocks have numbers, which `doctor tenant` names.
import type { WorkerFunction } from '../../worker/functions/catalogue.ts'
import { isSameText } from '../functions/parameters.ts'

export interface SetupFacts {
  readonly side: 'source' | 'target'
  readonly workerId: string
  /** Tenant ids or names, as far as they are known. */
  readonly tenant: string | null
  readonly partner: string | null
  readonly functions: readonly WorkerFunction[]
  readonly endpoints: readonly string[]
  /** The groups that the runbook asks for the scope; the first is the scope group. */
  readonly scopeGroups: readonly string[]
}

/** A text in PowerShell's single quotes, in which nothing is replaced. */
const quoted = (text: string): string => `'${text.replaceAll(/['‘’‚‛]/g, "''")}'`

const block = (number: number, title: string, ...lines: readonly string[]): string =>
  [`# --- ${number}. ${title}`, ...lines].join('\n')

export function setupScript(facts: SetupFacts): string {
  const blocks = [worker(facts), ...(facts.side === 'target' ? target(facts) : source(facts))]
  return `${[head(facts), ...blocks, end(facts)].join('\n\n')}\n`
}

const head = ({ side, tenant, partner, endpoints, scopeGroups }: SetupFacts): string =>
  `# Prepares the ${side} tenant for matoolkit. Read it first, then run it block by block as a Global Administrator: matoolkit never runs it.
# Needs the modules Microsoft.Graph and ExchangeOnlineManagement. What exists already is not made twice by Exchange: skip its block.
$ErrorActionPreference = 'Stop'
$Tenant = ${quoted(tenant ?? '<id of this tenant>')}
$Partner = ${quoted(partner ?? '<id of the other tenant>')}          # the GUID, not a domain
$PartnerName = '<other>.onmicrosoft.com'
$Endpoint = ${quoted(endpoints[0] ?? 'matoolkit')}
$ScopeGroup = ${quoted(scopeGroups[0] ?? 'migration-scope@<this domain>')}`

function worker(facts: SetupFacts): string {
  const graph = facts.functions.flatMap(({ permissions }) => permissions.graph ?? [])
  // For `doctor tenant` alone.
  if (facts.functions.some(isAccessPass)) graph.push('Policy.Read.AuthenticationMethod')
  const roles = rolesOf(facts)
  return block(
    1,
    'The worker: an app of this tenant, its certificate, exactly the permissions of this runbook, its role',
    "Connect-MgGraph -TenantId $Tenant -Scopes 'Application.ReadWrite.All','AppRoleAssignment.ReadWrite.All','RoleManagement.ReadWrite.Directory'",
    `$App = New-MgApplication -DisplayName ${quoted(`matoolkit ${facts.workerId}`)} -SignInAudience AzureADMyOrg`,
    '$Principal = New-MgServicePrincipal -AppId $App.AppId',
    `# openssl req -x509 -newkey rsa:3072 -nodes -days 365 -subj "/CN=${facts.workerId.replaceAll(/[^\w.-]/g, '')}" -keyout worker.key -out worker.crt; cat worker.crt worker.key > worker.pem`,
    "$Key = [Convert]::FromBase64String(((Get-Content worker.crt) -notmatch '-----' -join ''))",
    "Update-MgApplication -ApplicationId $App.Id -KeyCredentials @(@{ Type = 'AsymmetricX509Cert'; Usage = 'Verify'; Key = $Key })",
    'function Grant($ResourceAppId, $Names) {',
    `  $Api = Get-MgServicePrincipal -Filter "appId eq '$ResourceAppId'"`,
    '  foreach ($Name in $Names) {',
    "    $Role = $Api.AppRoles | Where-Object { $_.Value -eq $Name -and $_.AllowedMemberTypes -contains 'Application' }",
    '    New-MgServicePrincipalAppRoleAssignment -ServicePrincipalId $Principal.Id -PrincipalId $Principal.Id -ResourceId $Api.Id -AppRoleId $Role.Id',
    '  }',
    '}',
    `Grant '00000003-0000-0000-c000-000000000000' @(${[...new Set(graph)].sort().map(quoted).join(', ')})   # Microsoft Graph`,
    ...(roles.length > 0
      ? [
          "Grant '00000002-0000-0ff1-ce00-000000000000' @('Exchange.ManageAsApp')   # Office 365 Exchange Online",
          ...roles.map(
            (name) =>
              `New-MgRoleManagementDirectoryRoleAssignment -PrincipalId $Principal.Id -DirectoryScopeId '/' -RoleDefinitionId (Get-MgRoleManagementDirectoryRoleDefinition -Filter "displayName eq '${name}'").Id   # works within an hour`,
          ),
        ]
      : []),
    `"MATOOLKIT_WORKER_ID=${facts.workerId}", "MATOOLKIT_TENANT_ID=$Tenant", "MATOOLKIT_APP_ID=$($App.AppId)", 'MATOOLKIT_CERTIFICATE_FILE=worker.pem'`,
  )
}

/** The highest Exchange role that a function needs includes the others. */
function rolesOf({ functions }: SetupFacts): string[] {
  const all = functions.flatMap(({ permissions }) => (permissions.exchange ?? []).slice(1))
  const isAdministrator = all.includes('Exchange Administrator')
  return isAdministrator ? ['Exchange Administrator'] : [...new Set(all)]
}

const isAccessPass = ({ name }: WorkerFunction): boolean => /TemporaryAccessPass$/i.test(name)

const uses = ({ functions }: SetupFacts, name: RegExp): boolean =>
  functions.some((one) => name.test(one.name))

const EXCHANGE = block(
  2,
  'Exchange: organisation customisation, and the worker as one of its principals',
  'Connect-ExchangeOnline -Organization $Tenant',
  'if ((Get-OrganizationConfig).IsDehydrated) { Enable-OrganizationCustomization }   # every trial tenant',
  'New-ServicePrincipal -AppId $App.AppId -ObjectId $Principal.Id -DisplayName $App.DisplayName   # role groups may name it then',
)

const target = (facts: SetupFacts): string[] => [
  EXCHANGE,
  block(
    3,
    'The migration app, which Exchange itself uses: homed here, multitenant, with a client secret',
    '$Exo = Get-MgServicePrincipal -Filter "appId eq \'00000002-0000-0ff1-ce00-000000000000\'"',
    "$Move = $Exo.AppRoles | Where-Object Value -eq 'Mailbox.Migration'",
    "$Migration = New-MgApplication -DisplayName 'Mailbox migration' -SignInAudience AzureADMultipleOrgs -Web @{ RedirectUris = @('https://office.com') } -RequiredResourceAccess @(@{ ResourceAppId = $Exo.AppId; ResourceAccess = @(@{ Id = $Move.Id; Type = 'Role' }) })",
    '$MigrationPrincipal = New-MgServicePrincipal -AppId $Migration.AppId',
    'New-MgServicePrincipalAppRoleAssignment -ServicePrincipalId $MigrationPrincipal.Id -PrincipalId $MigrationPrincipal.Id -ResourceId $Exo.Id -AppRoleId $Move.Id',
    '$Secret = Add-MgApplicationPassword -ApplicationId $Migration.Id   # note its end; the endpoint stops working then',
    '"Send this to the administrator of the other tenant: https://login.microsoftonline.com/$PartnerName/adminconsent?client_id=$($Migration.AppId)&redirect_uri=https://office.com"',
  ),
  block(
    4,
    'The migration endpoint: by hand only, the REST endpoint takes no credential',
    '$Credential = [pscredential]::new($Migration.AppId, (ConvertTo-SecureString $Secret.SecretText -AsPlainText -Force))',
    'New-MigrationEndpoint -RemoteServer outlook.office.com -RemoteTenant $PartnerName -Credentials $Credential -ExchangeRemoteMove:$true -Name $Endpoint -ApplicationId $Migration.AppId',
  ),
  block(
    5,
    'The relationship to the source',
    "New-OrganizationRelationship 'Moves from the source' -Enabled:$true -MailboxMoveEnabled:$true -MailboxMoveCapability Inbound -DomainNames $Partner",
  ),
  ...(facts.functions.some(isAccessPass) ? [accessPass] : []),
  ...(uses(facts, /OneDrive/i) ? [sharePoint('Target')] : []),
]

const source = (facts: SetupFacts): string[] => [
  EXCHANGE,
  block(
    3,
    'Consent to the migration app: open the link from the target, as a Global Administrator',
    "$MigrationAppId = '<application id of the migration app>'",
    '"https://login.microsoftonline.com/$Tenant/adminconsent?client_id=$MigrationAppId&redirect_uri=https://office.com"',
  ),
  block(
    4,
    'The scope group: only its direct members may leave',
    "New-DistributionGroup -Type Security -Name 'Migration scope' -PrimarySmtpAddress $ScopeGroup",
    '# Add-DistributionGroupMember -Identity $ScopeGroup -Member <first pilot>',
  ),
  block(
    5,
    'The relationship to the target',
    "New-OrganizationRelationship 'Moves to the target' -Enabled:$true -MailboxMoveEnabled:$true -MailboxMoveCapability RemoteOutbound -DomainNames $Partner -OAuthApplicationId $MigrationAppId -MailboxMovePublishedScopes $ScopeGroup",
  ),
  ...(uses(facts, /OneDrive/i) ? [sharePoint('Source')] : []),
]

const accessPass = block(
  6,
  'Access passes: allowed for everyone, usable more than once',
  "Connect-MgGraph -TenantId $Tenant -Scopes 'Policy.ReadWrite.AuthenticationMethod'",
  "Update-MgPolicyAuthenticationMethodPolicyAuthenticationMethodConfiguration -AuthenticationMethodConfigurationId TemporaryAccessPass -BodyParameter @{ '@odata.type' = '#microsoft.graph.temporaryAccessPassAuthenticationMethodConfiguration'; state = 'enabled'; isUsableOnce = $false; includeTargets = @(@{ targetType = 'group'; id = 'all_users' }) }",
)

const sharePoint = (role: 'Source' | 'Target'): string =>
  block(
    7,
    'SharePoint: the trust that OneDrive moves need; on both sides',
    `Set-SPOCrossTenantRelationship -Scenario MnA -PartnerRole ${role === 'Source' ? 'Target' : 'Source'} -PartnerCrossTenantHostUrl 'https://<other>-my.sharepoint.com'`,
  )

const end = ({ side, workerId }: SetupFacts): string =>
  `# Then: matoolkit doctor tenant --${side} with the settings of ${workerId}. The trust between the tenants may take hours.`

/** The block of the printed script that mends a check; null for what no block mends. */
export function blockFor(check: string, side: 'source' | 'target' | null): number | null {
  const found = BLOCKS.find(([name]) => isSameText(name, check) || check.startsWith(`${name} `))
  if (!found || side === null) return null
  return found[side === 'target' ? 1 : 2]
}

const BLOCKS: readonly (readonly [check: string, target: number | null, source: number | null])[] =
  [
    ['permission', 1, 1],
    ['Exchange role', 1, 1],
    ['Exchange principal', 2, 2],
    ['organisation customisation', 2, 2],
    ['migration app', null, 3],
    ['access pass policy', 6, null],
    ['migration endpoint', 4, null],
    ['organisation relationship', 5, 5],
    ['scope group', null, 4],
  ]
