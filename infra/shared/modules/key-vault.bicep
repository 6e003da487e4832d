// The vault of worker certificates and of passwords that functions make. Access by role only; what is deleted can be restored, and
// nobody can destroy it before its time.
param name string
param location string
param isPrivate bool
param logsWorkspaceId string
param tags object

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: 90
    enablePurgeProtection: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: vault
  name: 'logs'
  properties: {
    workspaceId: logsWorkspaceId
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
  }
}

output id string = vault.id
output name string = vault.name
