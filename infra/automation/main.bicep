// Stage 2: the database, the roles as container apps, and one app per worker. No secret anywhere: identities sign in to everything.
targetScope = 'resourceGroup'

import { maintenanceHour, workerEntry } from '../shared/types.bicep'

@description('Begins the name of every resource; the same as in stage 1.')
@minLength(3)
@maxLength(11)
param name string = 'matoolkit'

@description('Region of every resource.')
param location string = resourceGroup().location

@description('The image by digest, such as registry.azurecr.io/matoolkit@sha256:….')
param image string

@description('As in stage 1, whose output it is. True: nothing is reachable from the internet.')
param isPrivate bool = true

@description('Outputs of stage 1.')
param logsWorkspaceName string
@description('Joined with commas.')
param networkIds string
param appsSubnetId string
param privateEndpointsSubnetId string
param postgresZoneId string
param keyVaultZoneId string
param insightsName string
param serviceBusName string
param serviceBusHost string
param keyVaultName string
param registryName string
param registryServer string
param archiveAccountName string
param archiveUrl string

@description('How many processes each role has. Two: one continues while the other is replaced or its zone fails.')
param replicas { scheduler: int, orchestrator: int, api: int } = { scheduler: 2, orchestrator: 2, api: 2 }

@description('True: replicas are spread over the zones of the region. Azure cannot change it later.')
param isZoneRedundant bool = true

@description('Name of the database server. Another one after a restore, which makes a new server (docs/azure.md).')
param postgresName string = '${name}-pg-${uniqueString(resourceGroup().id, name)}'

@description('Size of the database server. Burstable sizes are for trials.')
param postgresSku { name: string, tier: 'Burstable' | 'GeneralPurpose' | 'MemoryOptimized' } = { name: 'Standard_D2ds_v5', tier: 'GeneralPurpose' }

@description('Size of its disk in GB at first.')
param postgresStorageGb int = 128

@description('What the disk has grown to by itself; Azure never makes it smaller. infra/scripts/deploy.sh knows.')
param postgresGrownGb int = 0

@description('True: a standby server in another zone.')
param isPostgresRedundant bool = true

@description('True: backups in the paired region too. Azure cannot change it later.')
param isPostgresGeoRedundant bool = true

@description('When Azure may restart the database: day 0 is Sunday, hours are UTC. Null: when Azure likes.')
param postgresMaintenance maintenanceHour?

@description('Addresses that reach a database that is not private. The default lets every address of Azure ask; only your identities are let in.')
param postgresFirewall { name: string, from: string, to: string }[] = [{ name: 'azure', from: '0.0.0.0', to: '0.0.0.0' }]

@description('As in stage 1, whose output it is: for the vaults of workers.')
@minValue(7)
@maxValue(90)
param vaultKeptDays int = 90

@description('As in stage 1, whose output it is.')
param isVaultPurgeProtected bool = true

@description('As in stage 1, whose output it is.')
param vaultGeneration string = ''

@description('Who signs in to the API: issuer, audience and client id of the app registration.')
param oidc { issuer: string, audience: string, clientId: string }

@description('Settings of scheduler, orchestrator and API, such as connection variables. A secret has the name of a secret in the vault instead of a value. Without roles, all three get it.')
param settings { name: string, value: string?, secretName: string?, roles: string[]? }[] = []

@description('Channels and rules of notifications: the text of the file that docs/notifications.md describes. Empty: nobody is told.')
param notifications string = ''

@description('Change windows of the system: the text of the file that docs/runbook.md describes. Empty: only those of runbooks count.')
param windows string = ''

@description('Addresses that get a mail when an alert rule fires. Empty: rules only show in the portal.')
param alertEmails string[] = []

@description('Usually one per tenant.')
param workers workerEntry[]

@description('False: the database and the job that makes its tables, and no app yet. infra/scripts/deploy.sh begins a first deployment so.')
param withApps bool = true

@description('Tags of every resource.')
param tags object = {}

var databaseName = 'matoolkit'
var databaseRoles = ['scheduler', 'orchestrator', 'api']
var roleSettings = toObject(databaseRoles, role => role, role => filter(settings, setting => contains(setting.?roles ?? databaseRoles, role)))
var vaultNames = map(workers, entry => take('${name}-${uniqueString(resourceGroup().id, name, vaultGeneration, entry.id)}', 24))
var roleSecrets = flatten(map(databaseRoles, role => map(filter(roleSettings[role], setting => contains(setting, 'secretName')), setting => { role: role, name: setting.?secretName! })))

module identities 'modules/identities.bicep' = {
  name: '${name}-identities'
  params: {
    name: name
    location: location
    roles: concat(databaseRoles, ['migrate', 'scaler'], map(workers, worker => worker.id))
    tags: tags
  }
}

var identity = toObject(identities.outputs.all, one => one.role)

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' existing = {
  name: logsWorkspaceName
}

module postgres 'modules/postgres.bicep' = {
  name: '${name}-postgres'
  params: {
    name: postgresName
    location: location
    isPrivate: isPrivate
    sku: postgresSku
    storageGb: max(postgresStorageGb, postgresGrownGb)
    isRedundant: isPostgresRedundant
    isGeoRedundant: isPostgresGeoRedundant
    maintenance: postgresMaintenance
    firewall: postgresFirewall
    databaseName: databaseName
    ownerName: identity.migrate.name
    ownerPrincipalId: identity.migrate.principalId
    logsWorkspaceId: workspace.id
    tags: tags
  }
}

// Named after its server: Azure leads no endpoint to another one, and a restore makes one.
module postgresEndpoint '../shared/modules/private-endpoint.bicep' = if (isPrivate) {
  name: '${name}-pe-pg'
  params: {
    name: '${postgresName}-pe'
    location: location
    subnetId: privateEndpointsSubnetId
    resourceId: postgres.outputs.id
    group: 'postgresqlServer'
    zoneId: postgresZoneId
    tags: tags
  }
}

module environment 'modules/environment.bicep' = {
  name: '${name}-environment'
  params: {
    name: '${name}-apps'
    location: location
    isPrivate: isPrivate
    isZoneRedundant: isZoneRedundant
    subnetId: appsSubnetId
    logsWorkspaceName: logsWorkspaceName
    tags: tags
  }
}

module environmentZone 'modules/environment-zone.bicep' = if (isPrivate) {
  name: '${name}-environment-zone'
  params: {
    domain: environment.outputs.domain
    address: environment.outputs.address
    networkIds: split(networkIds, ',')
    tags: tags
  }
}

module access 'modules/access.bicep' = {
  name: '${name}-access'
  params: {
    serviceBusName: serviceBusName
    keyVaultName: keyVaultName
    insightsName: insightsName
    registryName: registryName
    archiveAccountName: archiveAccountName
    principalIds: toObject(identities.outputs.all, one => one.role, one => one.principalId)
    workerIds: map(workers, worker => worker.id)
    roleSecrets: roleSecrets
  }
}

// Says where telemetry goes. It opens nothing: keys are switched off, and each app signs in with its identity.
resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: keyVaultName
}

module migrate 'modules/migrate-job.bicep' = {
  name: '${name}-migrate'
  params: {
    name: '${name}-migrate'
    location: location
    environmentId: environment.outputs.id
    image: image
    registryServer: registryServer
    identityId: identity.migrate.id
    clientId: identity.migrate.clientId
    databaseUrl: 'postgres://${identity.migrate.name}@${postgres.outputs.host}/${databaseName}'
    databaseRoles: map(databaseRoles, role => {
      name: identity[role].name
      principalId: identity[role].principalId
    })
    tags: tags
  }
  // Who sees the job can start it.
  dependsOn: [access, postgresEndpoint]
}

module role 'modules/role-app.bicep' = [
  for roleName in databaseRoles: if (withApps) {
    name: '${name}-${roleName}'
    params: {
      name: '${name}-${roleName}'
      location: location
      environmentId: environment.outputs.id
      image: image
      registryServer: registryServer
      role: roleName
      identityId: identity[roleName].id
      clientId: identity[roleName].clientId
      databaseUrl: 'postgres://${identity[roleName].name}@${postgres.outputs.host}/${databaseName}'
      serviceBusHost: serviceBusHost
      keyVaultUrl: vault.properties.vaultUri
      insightsConnection: insights.properties.ConnectionString
      settings: roleSettings[roleName]
      notifications: notifications
      windows: windows
      archiveUrl: archiveUrl
      replicas: replicas[roleName]
      oidc: oidc
      workerIds: map(workers, worker => worker.id)
      tags: tags
    }
    dependsOn: [access, postgresEndpoint]
  }
]

module worker 'modules/worker-app.bicep' = [
  for (entry, index) in workers: if (withApps) {
    name: '${name}-worker-${entry.id}'
    params: {
      name: '${name}-${entry.id}'
      location: location
      environmentId: environment.outputs.id
      image: entry.?image ?? image
      registryServer: registryServer
      identityId: identity[entry.id].id
      clientId: identity[entry.id].clientId
      principalId: identity[entry.id].principalId
      scalerIdentityId: identity.scaler.id
      serviceBusName: serviceBusName
      serviceBusHost: serviceBusHost
      keyVaultUrl: vault.properties.vaultUri
      ownVaultName: vaultNames[index]
      isPrivate: isPrivate
      vaultKeptDays: vaultKeptDays
      isVaultPurgeProtected: isVaultPurgeProtected
      privateEndpointsSubnetId: privateEndpointsSubnetId
      keyVaultZoneId: keyVaultZoneId
      logsWorkspaceId: workspace.id
      worker: entry
      insightsConnection: insights.properties.ConnectionString
      tags: tags
    }
    dependsOn: [access]
  }
]

module alerts 'modules/alerts.bicep' = {
  name: '${name}-alerts'
  params: {
    name: name
    location: location
    insightsId: insights.id
    emails: alertEmails
    tags: tags
  }
}

@description('Where each worker keeps its certificate and passwords.')
output workerVaults { worker: string, vault: string }[] = [
  for (entry, index) in workers: { worker: entry.id, vault: vaultNames[index] }
]
output apiHost string = '${name}-api.${environment.outputs.domain}'
output migrateJobName string = migrate.outputs.name
