// Stage 1: what all roles share. Its outputs are the parameters of stage 2.
targetScope = 'resourceGroup'

import { networkIds, zoneIds } from 'types.bicep'

@description('Begins the name of every resource: a small letter, then small letters and digits.')
@minLength(3)
@maxLength(11)
param name string = 'matoolkit'

@description('Region of every resource.')
param location string = resourceGroup().location

@description('True: nothing is reachable from the internet. Service Bus and the registry then need their premium tiers. False is for small trials.')
param isPrivate bool = true

@description('Addresses of our network, at least /20. Take a range that no network uses with which it will be peered.')
param addressPrefix string = '10.0.0.0/16'

@description('Of the apps. It cannot be resized: /23 has room for more than 2,000 replicas.')
param appsPrefix string = cidrSubnet(addressPrefix, 23, 2)

@description('Of the private endpoints.')
param privateEndpointsPrefix string = cidrSubnet(addressPrefix, 24, 10)

@description('A network that you have instead of ours. The subnet of the apps is empty and delegated to Microsoft.App/environments.')
param existingNetwork networkIds?

@description('Private DNS zones that you have, such as those of a hub. They are linked to the network already.')
param existingZoneIds zoneIds?

@description('Networks from which people and pipelines come. Ours is peered with them, and they find the private addresses.')
param peerNetworkIds string[] = []

@description('True: traffic to your other places goes through the VPN or ExpressRoute gateway of the peered network.')
param usesPeerGateway bool = false

@description('Public SSH key. Set: a jump host behind Bastion is made in our network.')
param jumpHostKey string = ''

@description('How long logs are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 90

@description('How long a deleted vault and its secrets can be restored.')
@minValue(7)
@maxValue(90)
param vaultKeptDays int = 90

@description('True: nobody can destroy a deleted vault before that. Its name stays taken so long.')
param isVaultPurgeProtected bool = true

@description('Part of the names of vaults. Give another word if vaults of a removed environment still hold the names.')
param vaultGeneration string = ''

@description('How long an archive cannot be changed or deleted.')
@minValue(1)
param archiveKeptDays int = 365

@description('True after somebody locked the archive: the template leaves its policy alone.')
param isArchiveLocked bool = false

@description('True: archives are copied to the paired region.')
param isArchiveGeoRedundant bool = true

@description('Messaging units of Service Bus Premium.')
@allowed([1, 2, 4, 8, 16])
param serviceBusUnits int = 1

@description('Tags of every resource.')
param tags object = {}

// Names that must be unique in all of Azure end with this.
var suffix = uniqueString(resourceGroup().id, name)
var vaultSuffix = empty(vaultGeneration) ? suffix : uniqueString(resourceGroup().id, name, vaultGeneration)

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
    addressPrefix: addressPrefix
    appsPrefix: appsPrefix
    privateEndpointsPrefix: privateEndpointsPrefix
    existingNetwork: existingNetwork
    existingZoneIds: existingZoneIds
    peerNetworkIds: peerNetworkIds
    usesPeerGateway: usesPeerGateway
    tags: tags
  }
}

module jumpHost 'modules/jump-host.bicep' = if (!empty(jumpHostKey) && existingNetwork == null) {
  name: '${name}-jump-host'
  params: {
    name: name
    location: location
    networkId: network.outputs.networkId
    subnetPrefix: cidrSubnet(addressPrefix, 26, 44)
    bastionPrefix: cidrSubnet(addressPrefix, 26, 45)
    sshPublicKey: jumpHostKey
    userName: name
    tags: tags
  }
  // Azure changes one thing of a network at a time.
  dependsOn: [endpoint]
}

module serviceBus 'modules/service-bus.bicep' = {
  name: '${name}-service-bus'
  params: {
    name: '${name}-sb-${suffix}'
    location: location
    isPrivate: isPrivate
    units: serviceBusUnits
    logsWorkspaceId: monitoring.outputs.workspaceId
    tags: tags
  }
}

module keyVault 'modules/key-vault.bicep' = {
  name: '${name}-key-vault'
  params: {
    name: take('${name}-${vaultSuffix}', 24)
    location: location
    isPrivate: isPrivate
    keptDays: vaultKeptDays
    isPurgeProtected: isVaultPurgeProtected
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

module archive 'modules/archive.bicep' = {
  name: '${name}-archive'
  params: {
    name: take('${name}${suffix}', 24)
    location: location
    isPrivate: isPrivate
    isGeoRedundant: isArchiveGeoRedundant
    keptDays: archiveKeptDays
    isLocked: isArchiveLocked
    logsWorkspaceId: monitoring.outputs.workspaceId
    tags: tags
  }
}

var endpoints = [
  { name: 'sb', resourceId: serviceBus.outputs.id, group: 'namespace', zoneId: network.outputs.zoneIds.serviceBus }
  { name: 'kv', resourceId: keyVault.outputs.id, group: 'vault', zoneId: network.outputs.zoneIds.keyVault }
  { name: 'cr', resourceId: registry.outputs.id, group: 'registry', zoneId: network.outputs.zoneIds.registry }
  { name: 'blob', resourceId: archive.outputs.id, group: 'blob', zoneId: network.outputs.zoneIds.blob }
]

module endpoint 'modules/private-endpoint.bicep' = [
  for index in range(0, 4): if (isPrivate) {
    name: '${name}-pe-${index}'
    params: {
      name: '${name}-pe-${endpoints[index].name}'
      location: location
      subnetId: network.outputs.privateEndpointsSubnetId
      resourceId: endpoints[index].resourceId
      group: endpoints[index].group
      zoneId: endpoints[index].zoneId
      tags: tags
    }
  }
]

output isPrivate bool = isPrivate
output vaultKeptDays int = vaultKeptDays
output isVaultPurgeProtected bool = isVaultPurgeProtected
output vaultGeneration string = vaultGeneration
output logsWorkspaceName string = monitoring.outputs.workspaceName
output insightsName string = monitoring.outputs.insightsName
output networkIds string = join(network.outputs.linkedIds, ',')
output appsSubnetId string = network.outputs.appsSubnetId
output privateEndpointsSubnetId string = network.outputs.privateEndpointsSubnetId
output postgresZoneId string = network.outputs.zoneIds.postgres
output keyVaultZoneId string = network.outputs.zoneIds.keyVault
output serviceBusName string = serviceBus.outputs.name
output serviceBusHost string = serviceBus.outputs.host
output keyVaultName string = keyVault.outputs.name
output registryName string = registry.outputs.name
output registryServer string = registry.outputs.server
output archiveAccountName string = archive.outputs.name
output archiveUrl string = archive.outputs.url
