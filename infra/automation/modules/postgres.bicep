// The database server: signed in to by identities only. The identity of the migration job owns the tables and grants the roles of the
// apps (`matoolkit db migrate`, `matoolkit db grant`), because Bicep cannot run SQL.
param name string
param location string
param isPrivate bool
param sku object
param storageGb int
param isRedundant bool
param databaseName string
param ownerName string
param ownerPrincipalId string
param tags object

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2025-08-01' = {
  name: name
  location: location
  tags: tags
  sku: sku
  properties: {
    version: '18'
    authConfig: {
      activeDirectoryAuth: 'Enabled'
      passwordAuth: 'Disabled'
      tenantId: tenant().tenantId
    }
    storage: { storageSizeGB: storageGb, autoGrow: 'Enabled' }
    backup: { backupRetentionDays: 35, geoRedundantBackup: 'Disabled' }
    highAvailability: { mode: isRedundant ? 'ZoneRedundant' : 'Disabled' }
    network: { publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled' }
  }
}

resource database 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2025-08-01' = {
  parent: server
  name: databaseName
  properties: { charset: 'UTF8' }
}

resource owner 'Microsoft.DBforPostgreSQL/flexibleServers/administrators@2025-08-01' = {
  parent: server
  name: ownerPrincipalId
  properties: {
    principalName: ownerName
    principalType: 'ServicePrincipal'
    tenantId: tenant().tenantId
  }
}

output id string = server.id
output host string = server.properties.fullyQualifiedDomainName
