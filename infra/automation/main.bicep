// Stage 2: the database, the roles as container apps, and one app per worker. No secret anywhere: identities sign in to everything.
targetScope = 'resourceGroup'

@description('Begins the name of every resource; the same as in stage 1.')
@minLength(3)
@maxLength(11)
param name string = 'matoolkit'

@description('Region of every resource.')
param location string = resourceGroup().location

@description('The image by digest, such as registry.azurecr.io/matoolkit@sha256:….')
param image string

@description('As in stage 1. True: nothing is reachable from the internet.')
param isPrivate bool = true

@description('Outputs of stage 1.')
param logsWorkspaceName string
param appsSubnetId string
param privateEndpointsSubnetId string
param postgresZoneId string
param insightsName string
param serviceBusName string
param keyVaultName string
param registryName string

@description('Size of the database server. Burstable sizes are for trials.')
param postgresSku object = { name: 'Standard_D2ds_v5', tier: 'GeneralPurpose' }

@description('Size of its disk in GB; it grows by itself.')
param postgresStorageGb int = 128

@description('True: a standby server in another zone.')
param isPostgresRedundant bool = true

@description('Who signs in to the API: issuer, audience and client id of the app registration.')
param oidc { issuer: string, audience: string, clientId: string }

@description('Settings of scheduler, orchestrator and API, such as connection variables. A secret has the name of a secret in the vault instead of a value. Without roles, all three get it.')
param settings { name: string, value: string?, secretName: string?, roles: string[]? }[] = []

@description('Channels and rules of notifications: the text of the file that docs/notifications.md describes. Empty: nobody is told.')
param notifications string = ''

@description('Change windows of the system: the text of the file that docs/runbook.md describes. Empty: only those of runbooks count.')
param windows string = ''

@description('One worker per tenant: id as in the runbooks, the tenant and its app, and the name of the app certificate in the vault.')
param workers { id: string, tenantId: string, organization: string, appId: string, certificate: string, slots: int?, maxReplicas: int? }[]

@description('Tags of every resource.')
param tags object = {}

var databaseName = 'matoolkit'
var databaseRoles = ['scheduler', 'orchestrator', 'api']
var roleSettings = toObject(databaseRoles, role => role, role => filter(settings, setting => contains(setting.?roles ?? databaseRoles, role)))
var roleSecrets = flatten(map(databaseRoles, role => map(filter(roleSettings[role], setting => contains(setting, 'secretName')), setting => { role: role, name: setting.secretName })))

module identities 'modules/identities.bicep' = {
  name: '${name}-identities'
  params: {
    name: name
    location: location
    roles: concat(databaseRoles, ['migrate', 'scaler'], map(workers, worker => worker.id))
    registryName: registryName
    tags: tags
  }
}

module postgres 'modules/postgres.bicep' = {
  name: '${name}-postgres'
  params: {
    name: '${name}-pg-${uniqueString(resourceGroup().id, name)}'
    location: location
    isPrivate: isPrivate
    sku: postgresSku
    storageGb: postgresStorageGb
    isRedundant: isPostgresRedundant
    databaseName: databaseName
    ownerName: identities.outputs.names.migrate
    ownerPrincipalId: identities.outputs.principalIds.migrate
    tags: tags
  }
}

module postgresEndpoint '../shared/modules/private-endpoint.bicep' = if (isPrivate) {
  name: '${name}-pe-pg'
  params: {
    name: '${name}-pe-pg'
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
    subnetId: appsSubnetId
    logsWorkspaceName: logsWorkspaceName
    tags: tags
  }
}

module access 'modules/access.bicep' = {
  name: '${name}-access'
  params: {
    serviceBusName: serviceBusName
    keyVaultName: keyVaultName
    insightsName: insightsName
    principalIds: identities.outputs.principalIds
    workerIds: map(workers, worker => worker.id)
    roleSecrets: roleSecrets
  }
}

// Says where telemetry goes. It opens nothing: keys are switched off, and each app signs in with its identity.
resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

var secretsUrl = 'https://${keyVaultName}${az.environment().suffixes.keyvaultDns}/secrets'
var serviceBusHost = '${serviceBusName}.servicebus.windows.net'

module migrate 'modules/migrate-job.bicep' = {
  name: '${name}-migrate'
  params: {
    name: '${name}-migrate'
    location: location
    environmentId: environment.outputs.id
    image: image
    registryServer: '${registryName}.azurecr.io'
    identityId: identities.outputs.ids.migrate
    clientId: identities.outputs.clientIds.migrate
    databaseUrl: 'postgres://${identities.outputs.names.migrate}@${postgres.outputs.host}/${databaseName}'
    databaseRoles: map(databaseRoles, role => {
      name: identities.outputs.names[role]
      principalId: identities.outputs.principalIds[role]
    })
    tags: tags
  }
}

module role 'modules/role-app.bicep' = [
  for roleName in databaseRoles: {
    name: '${name}-${roleName}'
    params: {
      name: '${name}-${roleName}'
      location: location
      environmentId: environment.outputs.id
      image: image
      registryServer: '${registryName}.azurecr.io'
      role: roleName
      identityId: identities.outputs.ids[roleName]
      clientId: identities.outputs.clientIds[roleName]
      databaseUrl: 'postgres://${identities.outputs.names[roleName]}@${postgres.outputs.host}/${databaseName}'
      serviceBusHost: serviceBusHost
      secretsUrl: secretsUrl
      insightsConnection: insights.properties.ConnectionString
      settings: roleSettings[roleName]
      notifications: notifications
      windows: windows
      oidc: oidc
      workerIds: map(workers, worker => worker.id)
      tags: tags
    }
    dependsOn: [access, postgresEndpoint]
  }
]

module worker 'modules/worker-app.bicep' = [
  for entry in workers: {
    name: '${name}-worker-${entry.id}'
    params: {
      name: '${name}-${entry.id}'
      location: location
      environmentId: environment.outputs.id
      image: image
      registryServer: '${registryName}.azurecr.io'
      identityId: identities.outputs.ids[entry.id]
      clientId: identities.outputs.clientIds[entry.id]
      principalId: identities.outputs.principalIds[entry.id]
      scalerIdentityId: identities.outputs.ids.scaler
      serviceBusName: serviceBusName
      keyVaultName: keyVaultName
      worker: entry
      insightsConnection: insights.properties.ConnectionString
      tags: tags
    }
    dependsOn: [access]
  }
]

output apiHost string = role[2].outputs.host
output migrateJobName string = migrate.outputs.name
