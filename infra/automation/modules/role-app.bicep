// Scheduler, orchestrator or API: always running, because timers are in the database and nobody else wakes them.
param name string
param location string
param environmentId string
param image string
param registryServer string
@allowed(['scheduler', 'orchestrator', 'api'])
param role string
param identityId string
param clientId string
param databaseUrl string
param serviceBusHost string
param jobKeyUrl string
param insightsConnection string
param sourceSettings { name: string, value: string?, keyVaultUrl: string? }[]
param oidc { issuer: string, audience: string, clientId: string }
param tags object

var isApi = role == 'api'
// The API answers on its own port, the others on the health port.
var port = isApi ? 7420 : 8080
var sourceSecrets = filter(sourceSettings, setting => contains(setting, 'keyVaultUrl'))

resource app 'Microsoft.App/containerApps@2025-07-01' = {
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
      activeRevisionsMode: 'Single'
      ingress: isApi ? { external: true, targetPort: port, transport: 'http', allowInsecure: false } : null
      registries: [{ server: registryServer, identity: identityId }]
      secrets: concat(
        [{ name: 'job-key', keyVaultUrl: jobKeyUrl, identity: identityId }],
        map(sourceSecrets, setting => {
          name: toLower(replace(setting.name, '_', '-'))
          keyVaultUrl: setting.keyVaultUrl
          identity: identityId
        })
      )
    }
    template: {
      // Longer than MATOOLKIT_SHUTDOWN_GRACE_SEC.
      terminationGracePeriodSeconds: 45
      containers: [
        {
          name: role
          image: image
          args: ['serve', '--roles', role]
          resources: { cpu: json('0.5'), memory: '1Gi' }
          env: concat(
            [
              { name: 'DATABASE_URL', value: databaseUrl }
              { name: 'MATOOLKIT_DATABASE_SIGN_IN', value: 'identity' }
              { name: 'MATOOLKIT_IDENTITY_CLIENT_ID', value: clientId }
              { name: 'MATOOLKIT_TRANSPORT', value: 'servicebus' }
              { name: 'MATOOLKIT_SERVICEBUS_NAMESPACE', value: serviceBusHost }
              { name: 'MATOOLKIT_JOB_KEY', secretRef: 'job-key' }
              { name: 'APPLICATIONINSIGHTS_CONNECTION_STRING', value: insightsConnection }
              { name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING', value: 'Authorization=AAD' }
              { name: 'OTEL_SERVICE_NAME', value: 'matoolkit-${role}' }
            ],
            isApi
              ? [
                  { name: 'MATOOLKIT_API_HOST', value: '0.0.0.0' }
                  { name: 'MATOOLKIT_API_TRUSTED_HOPS', value: '1' }
                  { name: 'MATOOLKIT_OIDC_ISSUERS', value: oidc.issuer }
                  { name: 'MATOOLKIT_OIDC_AUDIENCES', value: oidc.audience }
                  { name: 'MATOOLKIT_OIDC_CLIENT_ID', value: oidc.clientId }
                ]
              : [],
            map(sourceSettings, setting =>
              contains(setting, 'keyVaultUrl')
                ? { name: setting.name, secretRef: toLower(replace(setting.name, '_', '-')) }
                : { name: setting.name, value: setting.value }
            )
          )
          probes: [
            {
              type: 'Liveness'
              httpGet: { path: isApi ? '/api/health' : '/health', port: port }
              periodSeconds: 30
            }
            {
              type: 'Readiness'
              httpGet: { path: isApi ? '/api/ready' : '/ready', port: port }
              periodSeconds: 10
            }
          ]
        }
      ]
      scale: { minReplicas: 1, maxReplicas: 3 }
    }
  }
}

output host string = isApi ? app.properties.configuration.ingress.fqdn : ''
