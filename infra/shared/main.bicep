// Stage 1: what all roles share. Its outputs are the parameters of stage 2.
targetScope = 'resourceGroup'

@description('Begins the name of every resource.')
@minLength(3)
@maxLength(11)
param name string = 'matoolkit'

@description('Region of every resource.')
param location string = resourceGroup().location

@description('True: nothing is reachable from the internet. Service Bus and the registry then need their premium tiers. False is for small trials.')
param isPrivate bool = true

@description('How long logs are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 90

@description('Tags of every resource.')
param tags object = {}

// Names that must be unique in all of Azure end with this.
var suffix = uniqueString(resourceGroup().id, name)

module monitoring 'modules/monitoring.bicep' = {
  name: '${name}-monitoring'
  params: {
    name: name
    location: location
    retentionDays: logRetentionDays
    tags: tags
  }
}

module network 'modules/network.bicep' = {
  name: '${name}-network'
  params: {
    name: name
    location: location
    tags: tags
  }
}

module serviceBus 'modules/service-bus.bicep' = {
  name: '${name}-service-bus'
  params: {
    name: '${name}-sb-${suffix}'
    location: location
    isPrivate: isPrivate
    logsWorkspaceId: monitoring.outputs.workspaceId
    tags: tags
  }
}

module keyVault 'modules/key-vault.bicep' = {
  name: '${name}-key-vault'
  params: {
    name: take('${name}-${suffix}', 24)
    location: location
    isPrivate: isPrivate
    logsWorkspaceId: monitoring.outputs.workspaceId
    tags: tags
  }
}

module registry 'modules/registry.bicep' = {
  name: '${name}-registry'
  params: {
    name: '${name}${suffix}'
    location: location
    isPrivate: isPrivate
    logsWorkspaceId: monitoring.outputs.workspaceId
    tags: tags
  }
}

module serviceBusEndpoint 'modules/private-endpoint.bicep' = if (isPrivate) {
  name: '${name}-pe-sb'
  params: {
    name: '${name}-pe-sb'
    location: location
    subnetId: network.outputs.privateEndpointsSubnetId
    resourceId: serviceBus.outputs.id
    group: 'namespace'
    zoneId: network.outputs.zoneIds.serviceBus
    tags: tags
  }
}

module keyVaultEndpoint 'modules/private-endpoint.bicep' = if (isPrivate) {
  name: '${name}-pe-kv'
  params: {
    name: '${name}-pe-kv'
    location: location
    subnetId: network.outputs.privateEndpointsSubnetId
    resourceId: keyVault.outputs.id
    group: 'vault'
    zoneId: network.outputs.zoneIds.keyVault
    tags: tags
  }
}

module registryEndpoint 'modules/private-endpoint.bicep' = if (isPrivate) {
  name: '${name}-pe-cr'
  params: {
    name: '${name}-pe-cr'
    location: location
    subnetId: network.outputs.privateEndpointsSubnetId
    resourceId: registry.outputs.id
    group: 'registry'
    zoneId: network.outputs.zoneIds.registry
    tags: tags
  }
}

output logsWorkspaceName string = monitoring.outputs.workspaceName
output insightsName string = monitoring.outputs.insightsName
output appsSubnetId string = network.outputs.appsSubnetId
output privateEndpointsSubnetId string = network.outputs.privateEndpointsSubnetId
output postgresZoneId string = network.outputs.zoneIds.postgres
output serviceBusName string = serviceBus.outputs.name
output keyVaultName string = keyVault.outputs.name
output registryName string = registry.outputs.name
