// Where evidence packs of purged batches go. Written once: until the days are over nobody changes or deletes one, not with any role. The policy
// is unlocked, so that a trial can be removed; `az storage container immutability-policy lock` makes it final, and then isLocked is true.
param name string
param location string
param isPrivate bool
param isGeoRedundant bool
param keptDays int
@description('The policy was locked: Azure takes no second one, and only lengthens it.')
param isLocked bool
param logsWorkspaceId string
param tags object

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: isGeoRedundant ? 'Standard_GZRS' : 'Standard_LRS' }
  properties: {
    accessTier: 'Cool'
    allowBlobPublicAccess: false
    allowSharedKeyAccess: false
    allowCrossTenantReplication: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: 'archive'
  properties: { publicAccess: 'None' }
}

resource keep 'Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies@2025-01-01' = if (!isLocked) {
  parent: container
  name: 'default'
  properties: {
    immutabilityPeriodSinceCreationInDays: keptDays
    allowProtectedAppendWrites: false
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: blobs
  name: 'logs'
  properties: {
    workspaceId: logsWorkspaceId
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
  }
}

output id string = account.id
output name string = account.name
output url string = '${account.properties.primaryEndpoints.blob}${container.name}'
