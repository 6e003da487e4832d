// Upgrades the tables and gives each app its database role: started by the pipeline before new revisions, and awaited. Running it again
// changes nothing.
param name string
param location string
param environmentId string
param image string
param registryServer string
param identityId string
param clientId string
param databaseUrl string
@description('The identities of the apps that use the database: name and object id.')
param databaseRoles { name: string, principalId: string }[]
param tags object

resource job 'Microsoft.App/jobs@2025-07-01' = {
  name: name
  location: location
  tags: tags
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    environmentId: environmentId
    configuration: {
      triggerType: 'Manual'
      manualTriggerConfig: { parallelism: 1, replicaCompletionCount: 1 }
      replicaTimeout: 1800
      replicaRetryLimit: 1
      registries: [{ server: registryServer, identity: identityId }]
    }
    template: {
      containers: [
        {
          name: 'migrate'
          image: image
          args: concat(
            ['db', 'grant', '--migrate'],
            flatten(map(databaseRoles, role => ['--application', role.name, '--entra', '${role.name}=${role.principalId}']))
          )
          resources: { cpu: json('0.5'), memory: '1Gi' }
          env: [
            { name: 'DATABASE_URL', value: databaseUrl }
            { name: 'MATOOLKIT_DATABASE_SIGN_IN', value: 'identity' }
            { name: 'MATOOLKIT_IDENTITY_CLIENT_ID', value: clientId }
          ]
        }
      ]
    }
  }
}

output name string = job.name
