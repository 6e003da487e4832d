// Where the apps run. Private: no address on the internet.
param name string
param location string
param isPrivate bool
@description('Replicas are spread over zones. Azure cannot change it later.')
param isZoneRedundant bool
param subnetId string
param logsWorkspaceName string
param tags object

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' existing = {
  name: logsWorkspaceName
}

resource environment 'Microsoft.App/managedEnvironments@2025-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    vnetConfiguration: {
      internal: isPrivate
      infrastructureSubnetId: subnetId
    }
    zoneRedundant: isZoneRedundant
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    workloadProfiles: [{ name: 'Consumption', workloadProfileType: 'Consumption' }]
    // Logs reach the workspace by its diagnostic settings: no key is needed.
    appLogsConfiguration: { destination: 'azure-monitor' }
    peerTrafficConfiguration: { encryption: { enabled: true } }
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: environment
  name: 'logs'
  properties: {
    workspaceId: workspace.id
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
  }
}

output id string = environment.id
output domain string = environment.properties.defaultDomain
output address string = environment.properties.staticIp
