// The bus: three topics, and the two subscriptions of the orchestrator. Workers bring their own (stage 2). `matoolkit doctor bus`
// verifies all of it from outside.
param name string
param location string
param isPrivate bool
@description('Messaging units of the premium tier.')
param units int
param logsWorkspaceId string
param tags object

// Only the premium tier has private endpoints. Both are spread over the zones of the region by themselves.
var tier = isPrivate ? 'Premium' : 'Standard'

var topics = ['orchestrator-events', 'worker-jobs', 'worker-results']
var orchestratorTopics = ['orchestrator-events', 'worker-results']

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: tier
    tier: tier
    capacity: isPrivate ? units : null
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }
}

resource topic 'Microsoft.ServiceBus/namespaces/topics@2024-01-01' = [
  for topicName in topics: {
    parent: namespace
    name: topicName
    properties: {
      requiresDuplicateDetection: true
      duplicateDetectionHistoryTimeWindow: 'PT10M'
      defaultMessageTimeToLive: 'P7D'
    }
  }
]

resource subscription 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2024-01-01' = [
  for topicName in orchestratorTopics: {
    name: '${namespace.name}/${topicName}/orchestrator'
    dependsOn: [topic]
    properties: {
      lockDuration: 'PT1M'
      maxDeliveryCount: 10
      deadLetteringOnMessageExpiration: true
      defaultMessageTimeToLive: 'P7D'
    }
  }
]

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: namespace
  name: 'logs'
  properties: {
    workspaceId: logsWorkspaceId
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
  }
}

output id string = namespace.id
output name string = namespace.name
output host string = split(replace(namespace.properties.serviceBusEndpoint, 'https://', ''), ':')[0]
