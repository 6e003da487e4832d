// The client settings, each from a flag, the environment, the profile in ~/.matoolkit/config.json or a default, in that order. Each
// value knows its source: people ask for it when a command talks to the wrong API.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { CLIENT_SETTINGS } from '../../base/settings/client.ts'
import { readClientEnv, SETTINGS } from '../../base/settings/config.ts'
import type { Setting } from '../../base/settings/kinds.ts'
import { isObject } from '../../base/text/json.ts'
import { type ChosenInstance, chooseRunning } from './choose-instance.ts'
import { inHome, readJsonFile, writeJsonFile } from './home.ts'
import type { Instance } from './instances.ts'

/** The settings of a profile, by the names that people type. */
export const PROFILE_KEYS = {
  'api-url': { key: 'apiUrl', setting: CLIENT_SETTINGS.apiUrl },
  issuer: { key: 'issuer', setting: CLIENT_SETTINGS.issuer },
  'tenant-id': { key: 'tenantId', setting: SETTINGS.tenantId },
  'client-id': { key: 'clientId', setting: CLIENT_SETTINGS.clientId },
  'api-scope': { key: 'apiScope', setting: CLIENT_SETTINGS.apiScope },
  output: { key: 'output', setting: CLIENT_SETTINGS.output },
  zone: { key: 'zone', setting: CLIENT_SETTINGS.zone },
} as const
export type ProfileKey = keyof typeof PROFILE_KEYS

export interface ProfileValue {
  readonly value: string | null
  /** The source in words: a flag, a variable, the profile or a default. */
  readonly from: string
}

export type Profile = Readonly<Record<ProfileKey, ProfileValue>> & { readonly name: string }

export interface ProfileFlags {
  readonly apiUrl?: string
  readonly instance?: string
  readonly profile?: string
}

type StoredProfile = Readonly<Partial<Record<string, string>>>
interface ConfigFile {
  readonly profile: string
  readonly profiles: Readonly<Record<string, StoredProfile>>
  /** What else stands in the file: kept as it is. */
  readonly [other: string]: unknown
}

const DEFAULT_PROFILE = 'default'
const DEFAULT_URL = `http://127.0.0.1:${SETTINGS.apiPort.default}`

export const configPath = (): string => inHome('config.json')

/** The flat file of the earlier command line is read as the default profile; the next change writes it as one. */
export function readConfigFile(): ConfigFile {
  const stored = readJsonFile(configPath()) ?? {}
  if (!isObject(stored)) {
    const reason = 'it must hold one JSON object; correct or remove it'
    throw new MatoolkitError('FILE_UNREADABLE', { file: configPath(), reason })
  }
  const { profile, profiles, ...rest } = stored as Partial<ConfigFile>
  const { values, others } = flatValuesIn(rest)
  const named = (isObject(profiles) ? profiles : {}) as ConfigFile['profiles']
  const first = { ...values, ...named[DEFAULT_PROFILE] }
  const isEmpty = Object.keys(first).length === 0
  return {
    profile: typeof profile === 'string' ? profile : DEFAULT_PROFILE,
    profiles: isEmpty ? named : { ...named, [DEFAULT_PROFILE]: first },
    ...others,
  }
}

/** Keys of the earlier command line, in lower case with `-` for `_`. */
const FLAT_KEYS: Readonly<Record<string, ProfileKey>> = {
  'api-url': 'api-url',
  url: 'api-url',
  'tenant-id': 'tenant-id',
  'client-id': 'client-id',
  'api-scope': 'api-scope',
  scope: 'api-scope',
}

function flatValuesIn(rest: Readonly<Record<string, unknown>>) {
  const values: Record<string, string> = {}
  const others: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(rest)) {
    const spelling = name.toLowerCase().replaceAll('_', '-')
    const key = Object.hasOwn(FLAT_KEYS, spelling) ? FLAT_KEYS[spelling] : undefined
    if (key && typeof value === 'string') values[key] = value
    else others[name] = value
  }
  return { values, others }
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
  const values = Object.entries(PROFILE_KEYS).map(([spelling, { key, setting }]) => {
    const candidates: [string | undefined, string][] = [
      [spelling === 'api-url' ? flags.apiUrl : undefined, '--api-url'],
      [env[key], setting.name],
      [stored?.[spelling], `profile ${name}`],
    ]
    const found = candidates.find(([value]) => value !== undefined)
    return [spelling, found ? checked(spelling, setting, found) : defaultValue(spelling, null)]
  })
  return { name, ...Object.fromEntries(values) } as Profile
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

function defaultValue(name: string, local: Instance | null): ProfileValue {
  if (name !== 'api-url') return { value: null, from: 'not set' }
  return local
    ? { value: local.url, from: `matoolkit up in ${local.folder}` }
    : { value: DEFAULT_URL, from: 'default' }
}

export interface OpenedProfile {
  readonly profile: Profile
  /** The running instance that the address belongs to, if nothing else named one. */
  readonly chosen: ChosenInstance | null
}

/** The profile with the address of a running instance, unless a flag, the environment or the profile names an API. */
export async function openProfile(flags: ProfileFlags): Promise<OpenedProfile> {
  const { instance: given, apiUrl } = flags
  if (given !== undefined && apiUrl !== undefined) {
    throw new MatoolkitError('USAGE', { reason: 'Use either --instance or --api-url.' })
  }
  const named = loadProfile(flags)
  if (given === undefined && named['api-url'].from !== 'default') {
    return { profile: named, chosen: null }
  }
  const chosen = await chooseRunning(given)
  if (!chosen) return { profile: named, chosen }
  const { value, from } = defaultValue('api-url', chosen.instance)
  return { profile: { ...named, 'api-url': { value, from } }, chosen }
}
