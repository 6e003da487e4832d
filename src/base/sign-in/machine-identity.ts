// The identity that the platform gives to this process: a managed identity (Container Apps, App Service, virtual machines) or a workload
// identity (Kubernetes). Read from the variables that the platform sets.
import type { Config } from '../settings/config.ts'
import type { TokenEndpoints } from './token.ts'

export type MachineSettings = Pick<
  Config,
  | 'identityEndpoint'
  | 'identityHeader'
  | 'workloadTokenFile'
  | 'workloadClientId'
  | 'workloadTenantId'
>

export function machineIdentityOf(
  config: MachineSettings,
): Pick<TokenEndpoints, 'identity' | 'workload'> {
  const { identityEndpoint: url, identityHeader: header } = config
  const {
    workloadTokenFile: tokenFile,
    workloadClientId: clientId,
    workloadTenantId: tenantId,
  } = config
  return {
    identity: url !== null && header !== null ? { url, header } : null,
    workload:
      tokenFile !== null && clientId !== null && tenantId !== null
        ? { tokenFile, clientId, tenantId }
        : null,
  }
}
