// Small, for trials: one worker, a burstable database server without a standby. infra/scripts/deploy.sh adds the outputs of stage 1.
using 'main.bicep'

param logsWorkspaceName = 'matoolkit-logs'
param insightsName = 'matoolkit-insights'
param networkIds = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/virtualNetworks/matoolkit-vnet'
param appsSubnetId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/virtualNetworks/matoolkit-vnet/subnets/snet-apps'
param privateEndpointsSubnetId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/virtualNetworks/matoolkit-vnet/subnets/snet-private-endpoints'
param postgresZoneId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/privateDnsZones/privatelink.postgres.database.azure.com'
param keyVaultZoneId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/privateDnsZones/privatelink.vaultcore.azure.net'
param serviceBusName = 'matoolkit-sb-example'
param serviceBusHost = 'matoolkit-sb-example.servicebus.windows.net'
param keyVaultName = 'matoolkit-example'
param registryName = 'matoolkitexample'
param registryServer = 'matoolkitexample.azurecr.io'
param archiveAccountName = 'matoolkitexample'
param archiveUrl = 'https://matoolkitexample.blob.core.windows.net/archive'

param image = 'matoolkitexample.azurecr.io/matoolkit@sha256:0000000000000000000000000000000000000000000000000000000000000000'
param oidc = {
  issuer: 'https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/v2.0'
  // Tokens of version 2 carry the client id.
  audience: '00000000-0000-0000-0000-000000000000'
  clientId: '00000000-0000-0000-0000-000000000000'
}
param isPrivate = false
param postgresSku = { name: 'Standard_B1ms', tier: 'Burstable' }
param postgresStorageGb = 32
param isPostgresRedundant = false
param isPostgresGeoRedundant = false
param isZoneRedundant = false
param replicas = { scheduler: 1, orchestrator: 1, api: 1 }
param tags = { product: 'matoolkit', environment: 'dev' }
param workers = [
  {
    id: 'trial-worker'
    tenantId: '00000000-0000-0000-0000-000000000000'
    organization: 'trial.onmicrosoft.com'
    appId: '00000000-0000-0000-0000-000000000000'
    certificate: 'trial-worker'
  }
]
