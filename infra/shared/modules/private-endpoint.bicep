// One private endpoint: a resource gets an address in our network, and its public name leads there.
param name string
param location string
param subnetId string
param resourceId string
@description('The part of the resource that is reached, such as vault or namespace.')
param group string
param zoneId string
param tags object

resource endpoint 'Microsoft.Network/privateEndpoints@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [
      {
        name: name
        properties: {
          privateLinkServiceId: resourceId
          groupIds: [group]
        }
      }
    ]
  }
}

resource zoneGroup 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: group
        properties: { privateDnsZoneId: zoneId }
      }
    ]
  }
}
