// The network: one subnet for the apps, one for private endpoints, and the zones that turn public names into private addresses.
param name string
param location string
param tags object

// A subnet for Container Apps is delegated to them and cannot be resized later: /23 has room for more than 2,000 replicas.
var appsPrefix = '10.0.4.0/23'
var privateEndpointsPrefix = '10.0.10.0/24'

var zones = {
  serviceBus: 'privatelink.servicebus.windows.net'
  keyVault: 'privatelink.vaultcore.azure.net'
  postgres: 'privatelink.postgres.database.azure.com'
  registry: 'privatelink.azurecr.io'
}

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: '${name}-vnet'
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: ['10.0.0.0/16'] }
    subnets: [
      {
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
      {
        name: 'snet-private-endpoints'
        properties: {
          addressPrefix: privateEndpointsPrefix
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
    ]
  }
}

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for entry in items(zones): {
    name: entry.value
    location: 'global'
    tags: tags
  }
]

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (entry, index) in items(zones): {
    parent: zone[index]
    name: '${name}-link'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: { id: network.id }
    }
  }
]

output appsSubnetId string = resourceId('Microsoft.Network/virtualNetworks/subnets', network.name, 'snet-apps')
output privateEndpointsSubnetId string = resourceId('Microsoft.Network/virtualNetworks/subnets', network.name, 'snet-private-endpoints')
output zoneIds object = {
  serviceBus: resourceId('Microsoft.Network/privateDnsZones', zones.serviceBus)
  keyVault: resourceId('Microsoft.Network/privateDnsZones', zones.keyVault)
  postgres: resourceId('Microsoft.Network/privateDnsZones', zones.postgres)
  registry: resourceId('Microsoft.Network/privateDnsZones', zones.registry)
}
