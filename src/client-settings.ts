// The settings of the command line as a client of the API: which API, and how to sign in to it. A part of the one table in
// src/config.ts. Flags win over these, and these win over the client's own file, ~/.matoolkit/config.json. The tenant to sign in
// with is MATOOLKIT_TENANT_ID, which the worker reads too.
import { aPath, aText, httpsUrl, httpUrl, oneOf, setting } from './setting-kinds.ts'

const apiAddress = { ...httpUrl, mustBe: 'an address such as https://matoolkit.contoso.com' }

export const CLIENT_SETTINGS = {
  homeFolder: setting<string | null>('MATOOLKIT_HOME', aPath, {
    default: null,
    defaultShown: '~/.matoolkit',
    description: 'Where the command line keeps its profiles and sign-ins.',
  }),
  profile: setting<string | null>('MATOOLKIT_PROFILE', aText, {
    default: null,
    defaultShown: 'the one that `config use` chose',
    description: 'Which profile of the command line is used.',
  }),
  apiUrl: setting<string | null>('MATOOLKIT_API_URL', apiAddress, {
    default: null,
    defaultShown: 'the API that `up` started on this machine',
    description: 'The API that the command line talks to.',
  }),
  issuer: setting<string | null>('MATOOLKIT_ISSUER', httpsUrl('an address with https'), {
    default: null,
    defaultShown: 'Entra ID of MATOOLKIT_TENANT_ID, or what the API names',
    description: 'Who signs people in, for the command line.',
  }),
  clientId: setting<string | null>('MATOOLKIT_CLIENT_ID', aText, {
    default: null,
    defaultShown: 'what the API names',
    description: 'The client id that the command line signs in with.',
  }),
  apiScope: setting<string | null>('MATOOLKIT_API_SCOPE', aText, {
    default: null,
    defaultShown: 'what the API names',
    description: 'The scope that the command line asks for, such as `api://{id}/access_as_user`.',
  }),
  output: setting<string | null>('MATOOLKIT_OUTPUT', oneOf(['table', 'json', 'yaml', 'csv']), {
    default: null,
    defaultShown: 'a table on a terminal, JSON elsewhere',
    description: 'How the command line answers where `--output` does not say.',
  }),
  clientSecret: setting<string | null>('MATOOLKIT_CLIENT_SECRET', aText, {
    default: null,
    description:
      'The secret of an application that calls the API without a person, as a pipeline does.',
    secret: true,
  }),
  token: setting<string | null>('MATOOLKIT_TOKEN', aText, {
    default: null,
    description: 'An access token that the command line sends as it is.',
    secret: true,
  }),
}

/** `tenantId` is the worker's setting of that name. */
export type ClientKey = keyof typeof CLIENT_SETTINGS | 'tenantId'
export type ClientEnv = Readonly<Partial<Record<ClientKey, string>>>
