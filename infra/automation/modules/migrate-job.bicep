// Upgrades the tables: started by the pipeline before new revisions, and awaited.
param name string
param location string
param environmentId string
param image string
param registryServer string
param identityId string
param clientId string
param databaseUrl string
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
          args: ['db', 'migrate']
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
