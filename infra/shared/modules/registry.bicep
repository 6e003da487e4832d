// The registry of our images. No admin user, no anonymous pull.
param name string
param location string
param isPrivate bool
param logsWorkspaceId string
param tags object

resource registry 'Microsoft.ContainerRegistry/registries@2025-11-01' = {
  name: name
  location: location
  tags: tags
  // Only the premium tier has private endpoints.
  sku: { name: isPrivate ? 'Premium' : 'Basic' }
  properties: {
    adminUserEnabled: false
    anonymousPullEnabled: false
    // `az acr import` copies images as a trusted service of Azure; no build runs there.
    networkRuleBypassOptions: 'AzureServices'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: registry
  name: 'logs'
  properties: {
    workspaceId: logsWorkspaceId
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
  }
}

output id string = registry.id
output name string = registry.name
output server string = registry.properties.loginServer
