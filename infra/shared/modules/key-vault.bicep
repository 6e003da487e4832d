// A vault: one for the roles, and one per worker with its certificate and the passwords that its functions make. Access by role only. What is
// deleted can be restored. With purge protection nobody can destroy it before its time, and its name stays taken so long.
param name string
param location string
param isPrivate bool
@description('Of a deleted vault and its secrets.')
param keptDays int
param isPurgeProtected bool
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
    softDeleteRetentionInDays: keptDays
    // Azure takes no false: it can never be switched off.
    enablePurgeProtection: isPurgeProtected ? true : null
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
output url string = vault.properties.vaultUri
