// Parses connection variables, except for postgres: `Key=value;…` as SQL Server's tools write it, or for databricks just the
// workspace URL. Unknown keys are refused by name: a misspelt `Encrypt` would be silently unsafe.
import { SourceFault } from './fault.ts'

export type Identity =
  | { readonly kind: 'sql'; readonly user: string; readonly password: string }
  | {
      readonly kind: 'service_principal'
      /** Null: Dataverse says to which tenant it belongs, as Microsoft's driver lets it. */
      readonly tenantId: string | null
      readonly clientId: string
      readonly secret: string
    }
  | { readonly kind: 'managed_identity'; readonly clientId: string | null }
  | { readonly kind: 'databricks_oauth'; readonly clientId: string; readonly secret: string }
  | { readonly kind: 'databricks_token'; readonly token: string }

export interface Connection {
  readonly server: string
  readonly database: string | null
  readonly identity: Identity
  readonly encrypt: boolean
  readonly trustServerCertificate: boolean
  readonly hostNameInCertificate: string | null
}

/** Keys without blanks and case, with their synonyms. */
const KEYS: Readonly<Record<string, keyof Parts>> = {
  server: 'server',
  datasource: 'server',
  address: 'server',
  addr: 'server',
  networkaddress: 'server',
  host: 'server',
  database: 'database',
  initialcatalog: 'database',
  authentication: 'authentication',
  tenantid: 'tenantId',
  userid: 'user',
  user: 'user',
  uid: 'user',
  clientid: 'user',
  password: 'password',
  pwd: 'password',
  clientsecret: 'password',
  encrypt: 'encrypt',
  trustservercertificate: 'trust',
  hostnameincertificate: 'hostName',
}
/** Keys of Microsoft's driver that are common in copied connection strings, and without meaning here. */
const IGNORED_KEYS = new Set([
  'persistsecurityinfo',
  'app',
  'connectretrycount',
  'connectretryinterval',
  'connectionlifetime',
  'currentlanguage',
  'enlist',
  // Where it is on, the string names no user, and is refused for that.
  'integratedsecurity',
  'ipaddresspreference',
  'language',
  'loadbalancetimeout',
  'maxpoolsize',
  'minpoolsize',
  'multisubnetfailover',
  'poolblockingperiod',
  'replication',
  'timeout',
  'transactionbinding',
  'trusted_connection',
  'typesystemversion',
  'workstationid',
  'wsid',
  'multipleactiveresultsets',
  'applicationname',
  'applicationintent',
  'connectiontimeout',
  'connecttimeout',
  'commandtimeout',
  'pooling',
  'packetsize',
])

interface Parts {
  readonly server: string
  readonly database: string
  readonly authentication: string
  readonly tenantId: string
  readonly user: string
  readonly password: string
  readonly encrypt: string
  readonly trust: string
  readonly hostName: string
}

/** A key, and a value that is quoted or ends at the next semicolon. The parts cannot overlap, so matching stays linear. */
const PAIR = /([^=;]+)=\s*(?:"((?:[^"]|"")*)"\s*|'((?:[^']|'')*)'\s*|(?![\s"'])([^;]*))(?:;|$)/y
const TEXT_CHARS_MAX = 4_000

function partsOf(text: string, variable: string): Partial<Parts> {
  const parts: Partial<Record<keyof Parts, string>> = {}
  const refuse = (reason: string) => new SourceFault('not_configured', `${variable} ${reason}`)
  if (text.length > TEXT_CHARS_MAX) throw refuse(`has more than ${TEXT_CHARS_MAX} characters`)
  for (let at = 0; text.slice(at).trim() !== ''; at = PAIR.lastIndex) {
    PAIR.lastIndex = at
    const match = PAIR.exec(text)
    // Never quotes the text: a misplaced part may be the password.
    if (!match) throw refuse('does not have the form Key=value;Key=value')
    const [, written = '', doubly, singly, bare = ''] = match
    const key = written.trim()
    const folded = key.replaceAll(/\s/g, '').toLowerCase()
    if (IGNORED_KEYS.has(folded)) continue
    const part = Object.hasOwn(KEYS, folded) ? KEYS[folded] : undefined
    if (!part) throw refuse(`has the unknown key "${key.slice(0, 40)}"`)
    if (part in parts) throw refuse(`has the key "${key}" twice`)
    parts[part] = doubly?.replaceAll('""', '"') ?? singly?.replaceAll("''", "'") ?? bare.trim()
  }
  return parts
}

/** Other names of an identity of this machine, folded. */
const OF_THE_MACHINE = new Set([
  'activedirectorydefault',
  'activedirectorymsi',
  'activedirectoryworkloadidentity',
])

/** Supported values of `Authentication`, folded; the first is the default. */
const AUTHENTICATIONS = {
  dataverse: ['activedirectorymanagedidentity', 'activedirectoryserviceprincipal'],
  sqlserver: ['sqlpassword', 'activedirectorymanagedidentity', 'activedirectoryserviceprincipal'],
  databricks: [
    'activedirectorymanagedidentity',
    'activedirectoryserviceprincipal',
    'databricksoauth',
    'databrickstoken',
  ],
} as const

type ConnectedType = keyof typeof AUTHENTICATIONS
type Authentication = (typeof AUTHENTICATIONS)[ConnectedType][number]

const SPELLINGS: Readonly<Record<Authentication, string>> = {
  sqlpassword: 'Sql Password',
  activedirectorymanagedidentity: 'Active Directory Managed Identity',
  activedirectoryserviceprincipal: 'Active Directory Service Principal',
  databricksoauth: 'Databricks OAuth',
  databrickstoken: 'Databricks Token',
}

/** Parses the text of `variable`. Passes secrets to `hide` before anything can fail. */
export function readConnection(
  type: ConnectedType,
  text: string,
  variable: string,
  hide: (secret: string) => void,
): Connection {
  const isAddress =
    /^(?:https?:\/\/[^;=\s]*|(?:tcp:)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:,\d{1,5})?)$/i.test(text.trim())
  const parts: Partial<Parts> = isAddress ? { server: text.trim() } : partsOf(text, variable)
  if (parts.password) hide(parts.password)
  const refuse = (reason: string) => new SourceFault('not_configured', `${variable} ${reason}`)
  if (!parts.server) throw refuse('has no Server')
  const encrypt = booleanOf(parts.encrypt, true, 'Encrypt', refuse)
  const trust = booleanOf(parts.trust, false, 'TrustServerCertificate', refuse)
  // The connection carries the access token: an impostor server could use it.
  if (type === 'dataverse' && (!encrypt || trust))
    throw refuse('must leave Encrypt on and TrustServerCertificate off')
  return {
    server: parts.server,
    database: parts.database || null,
    identity: identityOf(authenticationOf(type, parts, refuse), withTenant(type, parts), refuse),
    encrypt,
    trustServerCertificate: trust,
    hostNameInCertificate: parts.hostName || null,
  }
}

type Refuse = (reason: string) => SourceFault

function booleanOf(
  text: string | undefined,
  defaultValue: boolean,
  key: string,
  refuse: Refuse,
): boolean {
  if (!text) return defaultValue
  if (/^(?:true|yes|mandatory|strict)$/i.test(text)) return true
  if (/^(?:false|no|optional)$/i.test(text)) return false
  throw refuse(`has ${key}=${text.slice(0, 20)}; use True or False`)
}

function authenticationOf(
  type: ConnectedType,
  parts: Partial<Parts>,
  refuse: Refuse,
): Authentication {
  const possible: readonly Authentication[] = AUTHENTICATIONS[type]
  if (!parts.authentication) return possible[0]!
  const folded = parts.authentication.replaceAll(/\s/g, '').toLowerCase()
  if (OF_THE_MACHINE.has(folded)) return 'activedirectorymanagedidentity'
  const found = possible.find((name) => name === folded)
  if (found) return found
  const names = possible.map((name) => SPELLINGS[name]).join(', ')
  throw refuse(`has an unsupported Authentication; use one of: ${names}`)
}

/** `clientId@tenantId`, as older connection strings have it; null where Dataverse will be asked. */
function withTenant(type: ConnectedType, parts: Partial<Parts>): Partial<Parts> & Tenancy {
  const [clientId = '', tenantId] = (parts.user ?? '').split('@')
  if (parts.tenantId) return parts
  if (tenantId && /^[0-9a-f-]{36}$/i.test(clientId)) return { ...parts, user: clientId, tenantId }
  return { ...parts, asksDataverse: type === 'dataverse' }
}

interface Tenancy {
  readonly asksDataverse?: boolean
}

function identityOf(
  authentication: Authentication,
  parts: Partial<Parts> & Tenancy,
  refuse: Refuse,
): Identity {
  const require = (part: 'user' | 'password' | 'tenantId', key: string): string => {
    const value = parts[part]
    if (value) return value
    throw refuse(`has no ${key}, which ${SPELLINGS[authentication]} needs`)
  }
  switch (authentication) {
    case 'sqlpassword':
      return {
        kind: 'sql',
        user: require('user', 'User ID'),
        password: require('password', 'Password'),
      }
    case 'activedirectorymanagedidentity':
      return { kind: 'managed_identity', clientId: parts.user || null }
    case 'activedirectoryserviceprincipal':
      return {
        kind: 'service_principal',
        tenantId: parts.asksDataverse ? null : require('tenantId', 'Tenant ID'),
        clientId: require('user', 'User ID'),
        secret: require('password', 'Password'),
      }
    case 'databricksoauth':
      return {
        kind: 'databricks_oauth',
        clientId: require('user', 'User ID'),
        secret: require('password', 'Password'),
      }
    case 'databrickstoken':
      return { kind: 'databricks_token', token: require('password', 'Password') }
  }
}
