// One identity per role and worker, so that each has its own rights and none has another's. All may pull the image.
param name string
param location string
param roles string[]
param registryName string
param tags object

var acrPull = '7f951dda-4ed3-4680-a7ca-43fe172d538d'

resource registry 'Microsoft.ContainerRegistry/registries@2025-11-01' existing = {
  name: registryName
}

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = [
  for role in roles: {
    name: '${name}-${role}'
    location: location
    tags: tags
  }
]

resource pull 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (role, index) in roles: {
    scope: registry
    name: guid(registry.id, identity[index].id, acrPull)
    properties: {
      principalId: identity[index].properties.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', acrPull)
    }
  }
]

output ids object = toObject(range(0, length(roles)), index => roles[index], index => identity[index].id)
output names object = toObject(range(0, length(roles)), index => roles[index], index => identity[index].name)
output clientIds object = toObject(range(0, length(roles)), index => roles[index], index => identity[index].properties.clientId)
output principalIds object = toObject(range(0, length(roles)), index => roles[index], index => identity[index].properties.principalId)
