// The addresses of a private environment: its domain is a zone in which every name leads to its one address.
param domain string
param address string
@description('Networks in which people and pipelines find it.')
param networkIds string[]
param tags object

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = {
  name: domain
  location: 'global'
  tags: tags
}

resource every 'Microsoft.Network/privateDnsZones/A@2024-06-01' = {
  parent: zone
  name: '*'
  properties: {
    ttl: 300
    aRecords: [{ ipv4Address: address }]
  }
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for networkId in networkIds: {
    parent: zone
    name: 'link-${uniqueString(networkId)}'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: { id: networkId }
    }
  }
]
