// One worker: its vault, its subscriptions with their filters, the rights to them, and an app that sleeps while there are no jobs.
import { workerEntry } from '../../shared/types.bicep'

param name string
param location string
param environmentId string
param image string
param registryServer string
param identityId string
param clientId string
param principalId string
param scalerIdentityId string
param serviceBusName string
param serviceBusHost string
@description('Of the job key.')
param keyVaultUrl string
param ownVaultName string
param isPrivate bool
param vaultKeptDays int
param isVaultPurgeProtected bool
param privateEndpointsSubnetId string
param keyVaultZoneId string
param logsWorkspaceId string
param insightsConnection string
param worker workerEntry
param tags object

var receiver = '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
var secretsOfficer = 'b86a8fe4-44ce-4948-aee5-eccb2c155cd7'
// As KEDA calls the clouds.
var scalerClouds = { AzureCloud: 'AzurePublicCloud', AzureUSGovernment: 'AzureUSGovernmentCloud', AzureChinaCloud: 'AzureChinaCloud' }
var settings = worker.?settings ?? []
var secretSettings = sys.filter(settings, setting => contains(setting, 'secretName'))

// Its certificate, and the passwords that its functions make and find again after a crash. No other worker can read them, and it reads
// nobody else's.
module vault '../../shared/modules/key-vault.bicep' = {
  name: '${name}-vault'
  params: {
    name: ownVaultName
    location: location
    isPrivate: isPrivate
    keptDays: vaultKeptDays
    isPurgeProtected: isVaultPurgeProtected
    logsWorkspaceId: logsWorkspaceId
    tags: tags
  }
}

module vaultEndpoint '../../shared/modules/private-endpoint.bicep' = if (isPrivate) {
  name: '${name}-vault-pe'
  params: {
    name: '${name}-pe-kv'
    location: location
    subnetId: privateEndpointsSubnetId
    resourceId: vault.outputs.id
    group: 'vault'
    zoneId: keyVaultZoneId
    tags: tags
  }
}

resource ownVault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: ownVaultName
}

resource storeSecrets 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: ownVault
  name: guid(ownVault.id, principalId, secretsOfficer)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', secretsOfficer)
  }
  dependsOn: [vault]
}

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: serviceBusName
  resource jobs 'topics' existing = { name: 'worker-jobs' }
}

resource subscription 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2024-01-01' = {
  parent: namespace::jobs
  name: 'worker-${worker.id}'
  properties: {
    lockDuration: 'PT1M'
    maxDeliveryCount: 10
    deadLetteringOnMessageExpiration: true
    defaultMessageTimeToLive: 'P7D'
  }
}

// The default rule itself is the filter. A second rule would leave the default one, which lets every job through.
resource filter 'Microsoft.ServiceBus/namespaces/topics/subscriptions/rules@2024-01-01' = {
  parent: subscription
  name: '$Default'
  properties: {
    filterType: 'CorrelationFilter'
    correlationFilter: { properties: { WorkerId: worker.id } }
  }
}

resource receive 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: subscription
  name: guid(subscription.id, principalId, receiver)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', receiver)
  }
}

// Where the worker is told which jobs not to start: Service Bus cannot take them back. Every replica reads all of it.
resource control 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2024-01-01' = {
  parent: namespace::jobs
  name: 'control-${worker.id}'
  properties: {
    lockDuration: 'PT1M'
    maxDeliveryCount: 10
    deadLetteringOnMessageExpiration: false
    defaultMessageTimeToLive: 'PT10M'
  }
}

resource controlFilter 'Microsoft.ServiceBus/namespaces/topics/subscriptions/rules@2024-01-01' = {
  parent: control
  name: '$Default'
  properties: {
    filterType: 'CorrelationFilter'
    correlationFilter: { properties: { ControlFor: worker.id } }
  }
}

resource receiveControl 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: control
  name: guid(control.id, principalId, receiver)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', receiver)
  }
}

resource app 'Microsoft.App/containerApps@2025-07-01' = {
  name: name
  location: location
  tags: tags
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {}, '${scalerIdentityId}': {} }
  }
  properties: {
    environmentId: environmentId
    configuration: {
      activeRevisionsMode: 'Single'
      registries: [{ server: registryServer, identity: identityId }]
      secrets: concat(
        [{ name: 'job-key', keyVaultUrl: '${keyVaultUrl}secrets/job-key', identity: identityId }],
        map(secretSettings, setting => {
          name: toLower(replace(setting.name, '_', '-'))
          keyVaultUrl: '${vault.outputs.url}secrets/${setting.?secretName}'
          identity: identityId
        })
      )
      // The platform may use it to count messages; a program in the container may not.
      identitySettings: [{ identity: scalerIdentityId, lifecycle: 'None' }]
    }
    template: {
      terminationGracePeriodSeconds: 45
      containers: [
        {
          name: 'worker'
          image: image
          args: ['serve', '--roles', 'worker']
          resources: { cpu: json('0.5'), memory: '1Gi' }
          env: concat(
            [
              { name: 'MATOOLKIT_WORKER_ID', value: worker.id }
              { name: 'MATOOLKIT_TRANSPORT', value: 'servicebus' }
              { name: 'MATOOLKIT_SERVICEBUS_NAMESPACE', value: serviceBusHost }
              { name: 'MATOOLKIT_IDENTITY_CLIENT_ID', value: clientId }
              { name: 'MATOOLKIT_KEY_VAULT_URL', value: vault.outputs.url }
              { name: 'MATOOLKIT_JOB_KEY', secretRef: 'job-key' }
              { name: 'APPLICATIONINSIGHTS_CONNECTION_STRING', value: insightsConnection }
              { name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING', value: 'Authorization=AAD' }
              { name: 'OTEL_SERVICE_NAME', value: 'matoolkit-${worker.id}' }
              { name: 'MATOOLKIT_TENANT_ID', value: worker.tenantId }
              { name: 'MATOOLKIT_ORGANIZATION', value: worker.organization }
              { name: 'MATOOLKIT_APP_ID', value: worker.appId }
              { name: 'MATOOLKIT_CERTIFICATE_NAME', value: worker.certificate }
              { name: 'MATOOLKIT_MAX_PARALLELISM', value: string(worker.?slots ?? 4) }
              // KEDA ends it; an exit of its own would only restart the container.
              { name: 'MATOOLKIT_IDLE_EXIT_SEC', value: '0' }
              // Each replica keeps to its share of the tenant's limits.
              { name: 'MATOOLKIT_WORKER_REPLICAS', value: string(worker.?maxReplicas ?? 1) }
            ],
            map(settings, setting =>
              contains(setting, 'secretName')
                ? { name: setting.name, secretRef: toLower(replace(setting.name, '_', '-')) }
                : { name: setting.name, value: setting.?value ?? '' }
            )
          )
          probes: [
            {
              type: 'Liveness'
              httpGet: { path: '/health', port: 8080 }
              periodSeconds: 30
            }
            {
              type: 'Readiness'
              httpGet: { path: '/ready', port: 8080 }
              periodSeconds: 10
            }
          ]
        }
      ]
      scale: {
        minReplicas: worker.?minReplicas ?? 0
        maxReplicas: worker.?maxReplicas ?? 1
        pollingInterval: 30
        cooldownPeriod: 300
        rules: [
          {
            name: 'jobs'
            custom: {
              type: 'azure-servicebus'
              identity: scalerIdentityId
              metadata: {
                namespace: serviceBusName
                topicName: 'worker-jobs'
                subscriptionName: subscription.name
                messageCount: '1'
                cloud: scalerClouds[environment().name]
              }
            }
          }
        ]
      }
    }
  }
  dependsOn: [filter, receive, controlFilter, receiveControl, storeSecrets, vaultEndpoint]
}
