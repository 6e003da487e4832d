// Who may do what: the table in docs/install.md. A worker receives only from its own subscription, which it brings along (worker-app.bicep).
// Each assignment is named after its principal, so that an identity that was made again gets its own.
param serviceBusName string
param keyVaultName string
param insightsName string
param registryName string
param archiveAccountName string
@description('Principal ids by role.')
param principalIds object
param workerIds string[]
@description('Secrets in the vault that are settings of a role.')
param roleSecrets { role: string, name: string }[]

var roleIds = {
  pull: '7f951dda-4ed3-4680-a7ca-43fe172d538d'
  sender: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39'
  receiver: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
  secretsUser: '4633458b-17de-408a-b874-0445c86b69e6'
  metricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
  blobContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
}
var databaseRoles = ['scheduler', 'orchestrator', 'api']

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: serviceBusName

  resource events 'topics' existing = {
    name: 'orchestrator-events'
    resource ours 'subscriptions' existing = { name: 'orchestrator' }
  }
  resource jobs 'topics' existing = { name: 'worker-jobs' }
  resource results 'topics' existing = {
    name: 'worker-results'
    resource ours 'subscriptions' existing = { name: 'orchestrator' }
  }
}

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: keyVaultName
  resource jobKey 'secrets' existing = { name: 'job-key' }
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource registry 'Microsoft.ContainerRegistry/registries@2025-11-01' existing = {
  name: registryName
}

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: archiveAccountName
  resource blobs 'blobServices' existing = {
    name: 'default'
    resource archive 'containers' existing = { name: 'archive' }
  }
}

resource pull 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in concat(databaseRoles, ['migrate'], workerIds): {
    scope: registry
    name: guid(registry.id, principalIds[role], roleIds.pull)
    properties: {
      principalId: principalIds[role]
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.pull)
    }
  }
]

// Every process with the database forwards messages of its outbox, whoever wrote them.
resource sendEvents 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in databaseRoles: {
    scope: namespace::events
    name: guid(namespace::events.id, principalIds[role], roleIds.sender)
    properties: {
      principalId: principalIds[role]
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.sender)
    }
  }
]

resource sendJobs 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in databaseRoles: {
    scope: namespace::jobs
    name: guid(namespace::jobs.id, principalIds[role], roleIds.sender)
    properties: {
      principalId: principalIds[role]
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.sender)
    }
  }
]

resource receiveEvents 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: namespace::events::ours
  name: guid(namespace::events::ours.id, principalIds.orchestrator, roleIds.receiver)
  properties: {
    principalId: principalIds.orchestrator
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.receiver)
  }
}

resource receiveResults 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: namespace::results::ours
  name: guid(namespace::results::ours.id, principalIds.orchestrator, roleIds.receiver)
  properties: {
    principalId: principalIds.orchestrator
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.receiver)
  }
}

// Dead jobs are read from the subscriptions of all workers.
resource readDeadJobs 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: namespace::jobs
  name: guid(namespace::jobs.id, principalIds.orchestrator, roleIds.receiver)
  properties: {
    principalId: principalIds.orchestrator
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.receiver)
  }
}

resource sendResults 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for workerId in workerIds: {
    scope: namespace::results
    name: guid(namespace::results.id, principalIds[workerId], roleIds.sender)
    properties: {
      principalId: principalIds[workerId]
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.sender)
    }
  }
]

// Roles sign jobs with it, workers check the signature. It is the only secret of this vault that a worker may read.
resource readJobKey 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in concat(databaseRoles, workerIds): {
    scope: vault::jobKey
    name: guid(vault::jobKey.id, principalIds[role], roleIds.secretsUser)
    properties: {
      principalId: principalIds[role]
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.secretsUser)
    }
  }
]

// Connections of data sources, keys of notification channels, the key of evidence packs: each role reads its own.
resource settingSecrets 'Microsoft.KeyVault/vaults/secrets@2024-11-01' existing = [
  for secret in roleSecrets: {
    parent: vault
    name: secret.name
  }
]

resource readSettings 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (secret, i) in roleSecrets: {
    scope: settingSecrets[i]
    name: guid(settingSecrets[i].id, principalIds[secret.role], roleIds.secretsUser)
    properties: {
      principalId: principalIds[secret.role]
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.secretsUser)
    }
  }
]

// The immutability of the container keeps what is written, also from this role.
resource writeArchives 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: account::blobs::archive
  name: guid(account::blobs::archive.id, principalIds.scheduler, roleIds.blobContributor)
  properties: {
    principalId: principalIds.scheduler
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.blobContributor)
  }
}

// Traces, metrics and lifecycle events; the role's name says only one of them.
resource sendTelemetry 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in concat(databaseRoles, workerIds): {
    scope: insights
    name: guid(insights.id, principalIds[role], roleIds.metricsPublisher)
    properties: {
      principalId: principalIds[role]
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.metricsPublisher)
    }
  }
]

// Only counts messages; no program in a container can use this identity (worker-app.bicep).
resource scale 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: namespace
  name: guid(namespace.id, principalIds.scaler, roleIds.receiver)
  properties: {
    principalId: principalIds.scaler
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.receiver)
  }
}
