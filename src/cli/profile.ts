// Which API a command talks to and how it signs in: each value from a flag, else the environment, else the profile in
// ~/.matoolkit/config.json, else what is known by itself; and where each came from, because that is what people ask when a
// command talks to the wrong place.
import { CLIENT_SETTINGS } from '../client-settings.ts'
import { readClientEnv, SETTINGS } from '../config.ts'
import { MatoolkitError } from '../errors.ts'
import type { Setting } from '../setting-kinds.ts'
import { inHome, readJsonFile, writeJsonFile } from './home.ts'
import { findLocalApi } from './local-api.ts'

/** What a profile can hold, under the names that people type. */
export const PROFILE_KEYS = {
  'api-url': { key: 'apiUrl', setting: CLIENT_SETTINGS.apiUrl },
  issuer: { key: 'issuer', setting: CLIENT_SETTINGS.issuer },
  'tenant-id': { key: 'tenantId', setting: SETTINGS.tenantId },
  'client-id': { key: 'clientId', setting: CLIENT_SETTINGS.clientId },
  'api-scope': { key: 'apiScope', setting: CLIENT_SETTINGS.apiScope },
  output: { key: 'output', setting: CLIENT_SETTINGS.output },
} as const
export type ProfileKey = keyof typeof PROFILE_KEYS

export interface ProfileValue {
  readonly value: string | null
  /** In words: a flag, a variable, the file, or how it was found. */
  readonly from: string
}

export type Profile = Readonly<Record<ProfileKey, ProfileValue>> & { readonly name: string }

export interface ProfileFlags {
  readonly apiUrl?: string
  readonly profile?: string
}

type Stored = Readonly<Partial<Record<string, string>>>
interface ConfigFile {
  readonly profile: string
  readonly profiles: Readonly<Record<string, Stored>>
}

const DEFAULT_PROFILE = 'default'
const DEFAULT_URL = `http://127.0.0.1:${SETTINGS.apiPort.default}`

export const configPath = (): string => inHome('config.json')

export function readConfigFile(): ConfigFile {
  const { profile, profiles } = (readJsonFile(configPath()) ?? {}) as Partial<ConfigFile>
  const isMap = typeof profiles === 'object' && profiles !== null
  return { profile: profile ?? DEFAULT_PROFILE, profiles: isMap ? profiles : {} }
}

export const writeConfigFile = (file: ConfigFile): void => writeJsonFile(configPath(), file)

/** Throws PROFILE_UNKNOWN or CLIENT_SETTING_INVALID. */
export function loadProfile(flags: ProfileFlags): Profile {
  const env = readClientEnv()
  const file = readConfigFile()
  const chosen = flags.profile ?? env.profile
  const name = chosen ?? file.profile
  const stored = file.profiles[name]
  if (chosen !== undefined && chosen !== DEFAULT_PROFILE && !stored) {
    throw new MatoolkitError('PROFILE_UNKNOWN', { profile: chosen, file: configPath() })
  }
  const known = Object.entries(PROFILE_KEYS).map(([spelled, { key, setting }]) => {
    const candidates: [string | undefined, string][] = [
      [spelled === 'api-url' ? flags.apiUrl : undefined, '--api-url'],
      [env[key], setting.name],
      [stored?.[spelled], `profile ${name}`],
    ]
    const found = candidates.find(([value]) => value !== undefined)
    return [spelled, found ? checked(spelled, setting, found) : byItself(spelled)]
  })
  return { name, ...Object.fromEntries(known) } as Profile
}

function checked(name: string, setting: Setting<string | null>, found: (string | undefined)[]) {
  const [text, from] = found as [string, string]
  const value = setting.read(text)
  if (value === undefined || value === null) {
    const details = { name, value: text, from, mustBe: setting.mustBe }
    throw new MatoolkitError('CLIENT_SETTING_INVALID', details)
  }
  return { value: name === 'api-url' ? value.replace(/\/+$/, '') : value, from }
}

function byItself(name: string): ProfileValue {
  if (name !== 'api-url') return { value: null, from: 'not set' }
  const local = findLocalApi()
  return local
    ? { value: local.url, from: 'matoolkit up on this machine' }
    : { value: DEFAULT_URL, from: 'default' }
}
