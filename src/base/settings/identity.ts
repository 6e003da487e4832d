// Settings of the managed or workload identity of a process. The platform sets them. Part of the table in config.ts.
import { aGuid, aPath, aText, httpUrl, setting } from './kinds.ts'

export const IDENTITY_SETTINGS = {
  identityEndpoint: setting<string | null>(
    'IDENTITY_ENDPOINT',
    httpUrl('http://localhost:42356/msi/token'),
    {
      default: null,
      defaultShown: 'the metadata service of Azure virtual machines',
      description: 'Token endpoint of the managed identity. Azure Container Apps sets it.',
    },
  ),
  identityHeader: setting<string | null>('IDENTITY_HEADER', aText, {
    default: null,
    description: 'Header value that IDENTITY_ENDPOINT requires. Azure Container Apps sets it.',
    secret: true,
  }),
  workloadTokenFile: setting<string | null>('AZURE_FEDERATED_TOKEN_FILE', aPath, {
    default: null,
    description:
      'File with the token of a workload identity. Azure Kubernetes Service sets it; it stands for the managed identity then.',
  }),
  workloadClientId: setting<string | null>('AZURE_CLIENT_ID', aGuid, {
    default: null,
    description: 'Client id of the workload identity; used with AZURE_FEDERATED_TOKEN_FILE only.',
  }),
  workloadTenantId: setting<string | null>('AZURE_TENANT_ID', aGuid, {
    default: null,
    description: 'Tenant of the workload identity; used with AZURE_FEDERATED_TOKEN_FILE only.',
  }),
}
