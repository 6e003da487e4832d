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
param keyVaultUrl string
param insightsConnection string
param settings { name: string, value: string?, secretName: string?, roles: string[]? }[]
@description('Texts of files; empty: none.')
param notifications string
param windows string
@description('Workers that sleep until the orchestrator sends their first job.')
param workerIds string[]
@description('Where evidence packs of purged batches go: a container of blobs.')
param archiveUrl string
@minValue(1)
param replicas int
param oidc { issuer: string, audience: string, clientId: string }
param tags object

var isApi = role == 'api'
// The API answers on its own port, the others on the health port.
var port = isApi ? 7420 : 8080
var secretSettings = filter(settings, setting => contains(setting, 'secretName'))

// A changed secret alone starts no new revision; a changed path in a setting does.
var files = role == 'scheduler'
  ? []
  : filter(
      [
        { name: 'notifications', setting: 'MATOOLKIT_NOTIFICATIONS_FILE', text: notifications, path: 'notifications-${uniqueString(notifications)}.yaml' }
        { name: 'windows', setting: 'MATOOLKIT_WINDOWS_FILE', text: windows, path: 'windows-${uniqueString(windows)}.yaml' }
      ],
      file => !empty(file.text)
    )
var filesFolder = '/etc/matoolkit'

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
        [{ name: 'job-key', keyVaultUrl: '${keyVaultUrl}secrets/job-key', identity: identityId }],
        map(secretSettings, setting => {
          name: toLower(replace(setting.name, '_', '-'))
          keyVaultUrl: '${keyVaultUrl}secrets/${setting.?secretName}'
          identity: identityId
        }),
        map(files, file => { name: file.name, value: file.text })
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
              { name: 'MATOOLKIT_ARCHIVE', value: archiveUrl }
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
            role == 'orchestrator' ? [{ name: 'MATOOLKIT_DECLARED_WORKERS', value: join(workerIds, ',') }] : [],
            map(files, file => { name: file.setting, value: '${filesFolder}/${file.path}' }),
            map(settings, setting =>
              contains(setting, 'secretName')
                ? { name: setting.name, secretRef: toLower(replace(setting.name, '_', '-')) }
                : { name: setting.name, value: setting.?value ?? '' }
            )
          )
          volumeMounts: empty(files) ? [] : [{ volumeName: 'files', mountPath: filesFolder }]
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
      volumes: empty(files)
        ? []
        : [
            {
              name: 'files'
              storageType: 'Secret'
              secrets: map(files, file => { secretRef: file.name, path: file.path })
            }
          ]
      // Requests scale the API further; nothing else has a rule.
      scale: { minReplicas: replicas, maxReplicas: isApi ? replicas + 2 : replicas }
    }
  }
}
