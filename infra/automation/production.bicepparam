// Production: a worker for each of two tenants. Copy it or put in your own values; infra/scripts/deploy.sh adds the outputs of stage 1.
using 'main.bicep'

param logsWorkspaceName = 'matoolkit-logs'
param insightsName = 'matoolkit-insights'
param appsSubnetId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/virtualNetworks/matoolkit-vnet/subnets/snet-apps'
param privateEndpointsSubnetId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/virtualNetworks/matoolkit-vnet/subnets/snet-private-endpoints'
param postgresZoneId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/matoolkit/providers/Microsoft.Network/privateDnsZones/privatelink.postgres.database.azure.com'
param serviceBusName = 'matoolkit-sb-example'
param keyVaultName = 'matoolkit-example'
param registryName = 'matoolkitexample'

param image = 'matoolkitexample.azurecr.io/matoolkit@sha256:0000000000000000000000000000000000000000000000000000000000000000'
param oidc = {
  issuer: 'https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/v2.0'
  audience: 'api://matoolkit'
  clientId: '00000000-0000-0000-0000-000000000000'
}
param workers = [
  {
    id: 'fabrikam-worker'
    tenantId: '00000000-0000-0000-0000-000000000000'
    organization: 'fabrikam.onmicrosoft.com'
    appId: '00000000-0000-0000-0000-000000000000'
    certificate: 'fabrikam-worker'
  }
  {
    id: 'contoso-worker'
    tenantId: '00000000-0000-0000-0000-000000000000'
    organization: 'contoso.onmicrosoft.com'
    appId: '00000000-0000-0000-0000-000000000000'
    certificate: 'contoso-worker'
    slots: 8
    maxReplicas: 2
  }
]
