// The database server: signed in to by identities only. The identity of the migration job owns the tables and grants the roles of the
// apps (`matoolkit db migrate`, `matoolkit db grant`), because Bicep cannot run SQL.
import { maintenanceHour } from '../../shared/types.bicep'

param name string
param location string
param isPrivate bool
param sku object
param storageGb int
@description('A standby in another zone.')
param isRedundant bool
@description('Backups in the paired region too. Azure cannot change it later.')
param isGeoRedundant bool
@description('When Azure may restart it: day 0 is Sunday, hours are UTC. Null: when Azure likes.')
param maintenance maintenanceHour?
@description('Addresses that reach a server that is not private.')
param firewall { name: string, from: string, to: string }[]
param logsWorkspaceId string
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
    backup: { backupRetentionDays: 35, geoRedundantBackup: isGeoRedundant ? 'Enabled' : 'Disabled' }
    highAvailability: { mode: isRedundant ? 'ZoneRedundant' : 'Disabled' }
    maintenanceWindow: maintenance == null
      ? null
      : { customWindow: 'Enabled', dayOfWeek: maintenance!.day, startHour: maintenance!.hour, startMinute: 0 }
    network: { publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled' }
  }
}

resource database 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2025-08-01' = {
  parent: server
  name: databaseName
  properties: { charset: 'UTF8' }
}

// The server answers one change at a time: two at once end with "server is not accessible".
@batchSize(1)
resource rule 'Microsoft.DBforPostgreSQL/flexibleServers/firewallRules@2025-08-01' = [
  for entry in (isPrivate ? [] : firewall): {
    parent: server
    name: entry.name
    properties: { startIpAddress: entry.from, endIpAddress: entry.to }
    dependsOn: [database]
  }
]

resource owner 'Microsoft.DBforPostgreSQL/flexibleServers/administrators@2025-08-01' = {
  parent: server
  name: ownerPrincipalId
  properties: {
    principalName: ownerName
    principalType: 'ServicePrincipal'
    tenantId: tenant().tenantId
  }
  dependsOn: [database, rule]
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: server
  name: 'logs'
  properties: {
    workspaceId: logsWorkspaceId
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
    metrics: [{ category: 'AllMetrics', enabled: true }]
  }
}

output id string = server.id
output host string = server.properties.fullyQualifiedDomainName
