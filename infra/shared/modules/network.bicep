// The network: a subnet for the apps, one for private endpoints, and the zones that turn public names into private addresses. An existing
// network and existing zones are used as they are. Subnets are resources of their own, so that others in the network stay.
import { networkIds, zoneIds } from '../types.bicep'

param name string
param location string
param addressPrefix string
param appsPrefix string
param privateEndpointsPrefix string
@description('Null: ours.')
param existingNetwork networkIds?
@description('Null: ours.')
param existingZoneIds zoneIds?
@description('Networks that are peered with ours and find the private addresses too, such as a hub with a VPN.')
param peerNetworkIds string[]
param usesPeerGateway bool
param tags object

var zones = {
  serviceBus: 'privatelink.servicebus.windows.net'
  keyVault: 'privatelink.vaultcore.azure.net'
  postgres: 'privatelink.postgres.database.azure.com'
  registry: 'privatelink.azurecr.io'
  blob: 'privatelink.blob.${environment().suffixes.storage}'
}
var isOurs = existingNetwork == null
var ownZones = existingZoneIds == null ? items(zones) : []

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = if (isOurs) {
  name: '${name}-vnet'
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: [addressPrefix] }
  }
}

resource apps 'Microsoft.Network/virtualNetworks/subnets@2025-05-01' = if (isOurs) {
  parent: network
  name: 'snet-apps'
  properties: {
    addressPrefix: appsPrefix
    delegations: [
      {
        name: 'container-apps'
        properties: { serviceName: 'Microsoft.App/environments' }
      }
    ]
  }
}

// Azure changes one subnet of a network at a time.
resource endpoints 'Microsoft.Network/virtualNetworks/subnets@2025-05-01' = if (isOurs) {
  parent: network
  name: 'snet-private-endpoints'
  properties: {
    addressPrefix: privateEndpointsPrefix
    privateEndpointNetworkPolicies: 'Enabled'
  }
  dependsOn: [apps]
}

// Our side. The owner of the other network makes its side with this network's id.
resource peering 'Microsoft.Network/virtualNetworks/virtualNetworkPeerings@2025-05-01' = [
  for peerId in (isOurs ? peerNetworkIds : []): {
    parent: network
    name: 'to-${last(split(peerId, '/'))}'
    properties: {
      remoteVirtualNetwork: { id: peerId }
      allowVirtualNetworkAccess: true
      allowForwardedTraffic: true
      useRemoteGateways: usesPeerGateway
    }
    dependsOn: [apps, endpoints]
  }
]

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for entry in ownZones: {
    name: entry.value
    location: 'global'
    tags: tags
  }
]

var networkId = existingNetwork.?id ?? network.id
var linkedIds = concat([networkId], peerNetworkIds)

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for index in range(0, length(ownZones) * (1 + length(peerNetworkIds))): {
    parent: zone[index % length(ownZones)]
    // A link keeps its network: named by place, a network more would change it.
    name: '${name}-${uniqueString(linkedIds[index / length(ownZones)])}'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: { id: linkedIds[index / length(ownZones)] }
    }
  }
]

output networkId string = networkId
@description('Of all networks that find private addresses.')
output linkedIds string[] = linkedIds
output appsSubnetId string = existingNetwork.?appsSubnetId ?? apps.id
output privateEndpointsSubnetId string = existingNetwork.?privateEndpointsSubnetId ?? endpoints.id
output zoneIds zoneIds = existingZoneIds ?? {
  serviceBus: resourceId('Microsoft.Network/privateDnsZones', zones.serviceBus)
  keyVault: resourceId('Microsoft.Network/privateDnsZones', zones.keyVault)
  postgres: resourceId('Microsoft.Network/privateDnsZones', zones.postgres)
  registry: resourceId('Microsoft.Network/privateDnsZones', zones.registry)
  blob: resourceId('Microsoft.Network/privateDnsZones', zones.blob)
}
