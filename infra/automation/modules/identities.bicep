// One identity per role and worker, so that each has its own rights and none has another's.
param name string
param location string
param roles string[]
param tags object

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = [
  for role in roles: {
    name: '${name}-${role}'
    location: location
    tags: tags
  }
]

@description('In the order of the roles.')
output all { role: string, id: string, name: string, clientId: string, principalId: string }[] = [
  for (role, index) in roles: {
    role: role
    id: identity[index].id
    name: identity[index].name
    clientId: identity[index].properties.clientId
    principalId: identity[index].properties.principalId
  }
]
