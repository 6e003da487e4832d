// Settings of the API: where it listens, its limits and the sign-in of its callers. Part of the table in config.ts.
import {
  aPath,
  aText,
  httpsUrl,
  listSetting,
  oneOf,
  publicPath,
  setting,
  wholeNumber,
} from './kinds.ts'

export const API_SETTINGS = {
  apiHost: setting('MATOOLKIT_API_HOST', aText, {
    default: '127.0.0.1',
    description:
      'Address the API listens on. Any other than loopback requires MATOOLKIT_OIDC_ISSUERS.',
  }),
  apiPort: setting('MATOOLKIT_API_PORT', wholeNumber(0, 65_535), {
    default: 7420,
    description: 'Port the API listens on; 0 picks a free one.',
  }),
  apiTokenFile: setting('MATOOLKIT_API_TOKEN_FILE', aPath, {
    default: '.matoolkit/api-token',
    description:
      'File with the local API token: new at each start, removed at the end. Its owner may use the API on this machine.',
  }),
  apiReadsPerMin: setting('MATOOLKIT_API_READS_PER_MIN', wholeNumber(1, 1_000_000), {
    default: 600,
    description: 'Reads per caller and minute; changes have a fifth of it.',
  }),
  apiTrustedHops: setting('MATOOLKIT_API_TRUSTED_HOPS', wholeNumber(0, 10), {
    default: 0,
    description: 'Trusted proxies in front of the API. Use 1 on Azure Container Apps.',
  }),
  apiPublicPath: setting('MATOOLKIT_API_PUBLIC_PATH', publicPath, {
    default: '/',
    description: 'Path under which a proxy shows API and dashboard.',
  }),
  apiCorsOrigins: setting(
    'MATOOLKIT_API_CORS_ORIGINS',
    listSetting(httpsUrl('an origin'), 'a list of origins such as https://console.contoso.com'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description: 'Origins of web pages that may call the API from a browser.',
    },
  ),
  oidcIssuers: setting(
    'MATOOLKIT_OIDC_ISSUERS',
    listSetting(httpsUrl('an issuer'), 'a list of addresses with https'),
    {
      default: [] as readonly string[],
      defaultShown: 'none: local sign-in',
      description:
        'Accepted token issuers, spelled as in the tokens: `https://login.microsoftonline.com/{tenant}/v2.0`, and `https://sts.windows.net/{tenant}/` for version 1 tokens.',
    },
  ),
  oidcAudiences: setting('MATOOLKIT_OIDC_AUDIENCES', listSetting(aText, 'a list of audiences'), {
    default: [] as readonly string[],
    defaultShown: 'none',
    description:
      'Accepted token audiences: the client id of the API’s app registration, and `api://{client id}` for version 1 tokens.',
  }),
  oidcClientId: setting<string | null>('MATOOLKIT_OIDC_CLIENT_ID', aText, {
    default: null,
    description:
      'Public client with which the command line and the dashboard sign in. Outside Entra ID a token is a person’s only if it was issued to it.',
  }),
  oidcApps: setting('MATOOLKIT_OIDC_APPS', listSetting(aText, 'a list of client ids'), {
    default: [] as readonly string[],
    defaultShown: 'none',
    description: 'Client ids of applications that may call the API without a person.',
  }),
  readPolicy: setting<'reader' | 'authenticated'>(
    'MATOOLKIT_READ_POLICY',
    oneOf(['reader', 'authenticated']),
    {
      default: 'reader',
      description:
        'Who may read. `reader`: the roles Reader and Admin. `authenticated`: everyone who is signed in.',
    },
  ),
}
