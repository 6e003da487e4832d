// The settings of the command line as a client of the API: its URL and sign-in. Part of the table in src/base/settings/config.ts. Flags win
// over these, and these win over the client's file ~/.matoolkit/config.json. The tenant is MATOOLKIT_TENANT_ID, which the
// worker reads too.
import { aPath, aText, aZone, httpsUrl, httpUrl, oneOf, setting } from './kinds.ts'

const apiAddress = httpUrl('https://matoolkit.contoso.com')

export const CLIENT_SETTINGS = {
  homeFolder: setting<string | null>('MATOOLKIT_HOME', aPath, {
    default: null,
    defaultShown: '~/.matoolkit',
    description: 'Folder for the profiles and sign-ins of the command line.',
  }),
  profile: setting<string | null>('MATOOLKIT_PROFILE', aText, {
    default: null,
    defaultShown: 'the one set by `config use`',
    description: 'Profile of the command line.',
  }),
  apiUrl: setting<string | null>('MATOOLKIT_API_URL', apiAddress, {
    default: null,
    defaultShown: 'a `matoolkit up` that runs on this machine',
    description: 'URL of the API that the command line calls.',
  }),
  issuer: setting<string | null>('MATOOLKIT_ISSUER', httpsUrl('an address with https'), {
    default: null,
    defaultShown: 'Entra ID of MATOOLKIT_TENANT_ID, or as the API says',
    description: 'Issuer that signs people in for the command line.',
  }),
  clientId: setting<string | null>('MATOOLKIT_CLIENT_ID', aText, {
    default: null,
    defaultShown: 'as the API says',
    description: 'Client id with which the command line signs in.',
  }),
  apiScope: setting<string | null>('MATOOLKIT_API_SCOPE', aText, {
    default: null,
    defaultShown: 'as the API says',
    description: 'Scope that the command line requests, such as `api://{id}/access_as_user`.',
  }),
  output: setting<string | null>('MATOOLKIT_OUTPUT', oneOf(['table', 'json', 'yaml', 'csv']), {
    default: null,
    defaultShown: 'a table on a terminal, JSON elsewhere',
    description: 'Output format of the command line without `--output`.',
  }),
  zone: setting<string | null>('MATOOLKIT_ZONE', aZone, {
    default: null,
    defaultShown: 'the zone of the machine, or `TZ`',
    description: 'Zone in which the command line shows times without `--zone`.',
  }),
  clientSecret: setting<string | null>('MATOOLKIT_CLIENT_SECRET', aText, {
    default: null,
    description:
      'Secret of an application that calls the API without a person, such as a pipeline.',
    secret: true,
  }),
  token: setting<string | null>('MATOOLKIT_TOKEN', aText, {
    default: null,
    description: 'Access token that the command line sends unchanged.',
    secret: true,
  }),
}

/** `tenantId` is the worker's setting. */
export type ClientKey = keyof typeof CLIENT_SETTINGS | 'tenantId'
export type ClientEnv = Readonly<Partial<Record<ClientKey, string>>>
