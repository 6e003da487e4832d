// One worker: its subscription with its own filter, the right to receive from it, and an app that sleeps while there are no jobs.
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
param keyVaultName string
param insightsConnection string
param worker { id: string, tenantId: string, organization: string, appId: string, certificate: string, slots: int?, maxReplicas: int? }
param tags object

var receiver = '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
var vaultUrl = 'https://${keyVaultName}${environment().suffixes.keyvaultDns}'

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
  name: guid(subscription.id, worker.id, receiver)
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
  name: guid(control.id, worker.id, receiver)
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
      secrets: [{ name: 'job-key', keyVaultUrl: '${vaultUrl}/secrets/job-key', identity: identityId }]
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
          env: [
            { name: 'MATOOLKIT_WORKER_ID', value: worker.id }
            { name: 'MATOOLKIT_TRANSPORT', value: 'servicebus' }
            { name: 'MATOOLKIT_SERVICEBUS_NAMESPACE', value: '${serviceBusName}.servicebus.windows.net' }
            { name: 'MATOOLKIT_IDENTITY_CLIENT_ID', value: clientId }
            { name: 'MATOOLKIT_KEY_VAULT_URL', value: vaultUrl }
            { name: 'MATOOLKIT_JOB_KEY', secretRef: 'job-key' }
            { name: 'APPLICATIONINSIGHTS_CONNECTION_STRING', value: insightsConnection }
            { name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING', value: 'Authorization=AAD' }
            { name: 'OTEL_SERVICE_NAME', value: 'matoolkit-${worker.id}' }
            { name: 'MATOOLKIT_TENANT_ID', value: worker.tenantId }
            { name: 'MATOOLKIT_ORGANIZATION', value: worker.organization }
            { name: 'MATOOLKIT_APP_ID', value: worker.appId }
            { name: 'MATOOLKIT_CERTIFICATE_NAME', value: worker.certificate }
            { name: 'MATOOLKIT_MAX_PARALLELISM', value: string(worker.?slots ?? 4) }
            // Each replica keeps to its share of the tenant's limits.
            { name: 'MATOOLKIT_WORKER_REPLICAS', value: string(worker.?maxReplicas ?? 1) }
          ]
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
        minReplicas: 0
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
              }
            }
          }
        ]
      }
    }
  }
  dependsOn: [filter, receive]
}
