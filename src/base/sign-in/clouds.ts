// Where tokens come from in each of Microsoft's clouds. Services of a tenant are elsewhere: this is what every sign-in needs.
import type { Config } from '../settings/config.ts'
import type { CloudName } from '../settings/worker.ts'
import { machineIdentityOf } from './machine-identity.ts'
import { AZURE_ENDPOINTS, type TokenEndpoints } from './token.ts'

interface SignInCloud {
  readonly login: string
  /**
   * The audience of a federated credential. Source: "Configure a user-assigned managed identity as a federated credential on an app"
   * (learn.microsoft.com), which lists these three.
   */
  readonly federation: string
}

const SIGN_IN: Readonly<Record<CloudName, SignInCloud>> = {
  public: { login: AZURE_ENDPOINTS.entra, federation: 'api://AzureADTokenExchange' },
  usgov: {
    login: 'https://login.microsoftonline.us',
    federation: 'api://AzureADTokenExchangeUSGov',
  },
  usdod: {
    login: 'https://login.microsoftonline.us',
    federation: 'api://AzureADTokenExchangeUSGov',
  },
  china: {
    login: 'https://login.partner.microsoftonline.cn',
    federation: 'api://AzureADTokenExchangeChina',
  },
}

export function tokenEndpointsOf(config: Config): TokenEndpoints {
  const { cloud, loginUrl } = config
  return {
    ...AZURE_ENDPOINTS,
    ...machineIdentityOf(config),
    entra: loginUrl?.replace(/\/+$/, '') ?? SIGN_IN[cloud].login,
    federationScope: `${SIGN_IN[cloud].federation}/.default`,
  }
}
