// Kinds of setting values for src/base/settings/config.ts and its parts. A kind parses a text, says what it must be, and may suggest what was
// meant.
import { nearest } from '../text/spelling.ts'
import { DECLARED_WORKER, WORKER_ID } from '../text/worker-id.ts'
import { knownZone } from '../text/zoned-time.ts'

/** `read` returns undefined for an invalid text; `meant` suggests a correction. */
export interface SettingKind<T> {
  /** Completes "must be …". */
  readonly mustBe: string
  read(text: string): T | undefined
  meant?(text: string): string | null
}

export interface Setting<T> extends SettingKind<T> {
  readonly name: string
  readonly default: T
  /** The default as shown in the docs, where the value alone is unclear. */
  readonly defaultShown?: string
  readonly description: string
  /** Never shown, neither in messages nor in docs. */
  readonly secret?: true
}

export function wholeNumber(min: number, max: number): SettingKind<number> {
  return {
    mustBe: `a whole number from ${min} to ${max}`,
    read: (text) => {
      const value = Number(text)
      return /^\d{1,15}$/.test(text) && value >= min && value <= max ? value : undefined
    },
  }
}

export function oneOf<T extends string>(choices: readonly T[]): SettingKind<T> {
  return {
    mustBe: choices.length === 1 ? `"${choices[0]}"` : `one of ${choices.join(', ')}`,
    read: (text) => choices.find((choice) => choice === text),
    meant: (text) => nearest(text, choices),
  }
}

/** A comma-separated list of at least one item; blanks, empty items and duplicates are ignored. */
export function listSetting<T extends string>(
  item: SettingKind<T>,
  mustBe: string,
): SettingKind<readonly T[]> {
  const partsOf = (text: string) => {
    const parts = text.split(',').map((part) => part.trim())
    return [...new Set(parts)].filter((part) => part !== '')
  }
  const isWrong = (part: string) => item.read(part) === undefined
  return {
    mustBe,
    read: (text) => {
      const parts = partsOf(text)
      return parts.length === 0 || parts.some(isWrong) ? undefined : (parts as T[])
    },
    meant: (text) => {
      const wrong = partsOf(text).find(isWrong)
      return (wrong !== undefined && item.meant?.(wrong)) || null
    },
  }
}

export const aPath: SettingKind<string> = { mustBe: 'a path', read: (text) => text }

export const publicPath: SettingKind<string> = {
  mustBe: 'a path that begins and ends with "/", such as /migration/',
  read: (text) => (/^\/(?:[\w.~-]+\/)*$/.test(text) ? text : undefined),
}

export const aZone: SettingKind<string> = {
  mustBe: 'local, utc, runbook or a name such as Europe/Berlin',
  read: (text) =>
    text === 'local' || text === 'runbook' || knownZone(text) !== null ? text : undefined,
}

export const aText: SettingKind<string> = { mustBe: 'a text', read: (text) => text }

/** The example is one of the setting itself. */
export const httpUrl = (example: string): SettingKind<string> => ({
  mustBe: `an address such as ${example}`,
  read: (text) => (/^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined),
})

/** An https URL; http only on this machine. */
export const httpsUrl = (mustBe: string): SettingKind<string> => ({
  mustBe,
  read: (text) => {
    const url = URL.parse(text)
    const isLocal = url !== null && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
    return url?.protocol === 'https:' || (isLocal && url.protocol === 'http:') ? text : undefined
  },
})

export const postgresUrl: SettingKind<string> = {
  mustBe: 'an address such as postgres://user:password@host:5432/database',
  read: (text) => {
    const url = URL.parse(text)
    return url?.protocol === 'postgres:' || url?.protocol === 'postgresql:' ? text : undefined
  },
}

export const workerId: SettingKind<string> = {
  mustBe: 'a worker id',
  read: (text) => (WORKER_ID.test(text) ? text : undefined),
}

export const declaredWorker: SettingKind<string> = {
  mustBe: 'a worker id, or one with ":PascalCase" after it',
  read: (text) => (DECLARED_WORKER.test(text) ? text : undefined),
}

const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
export const aGuid: SettingKind<string> = {
  mustBe: 'a GUID such as 00000000-0000-0000-0000-000000000000',
  read: (text) => (GUID.test(text) ? text.toLowerCase() : undefined),
}

const HOST = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/i
export const aHost = (example: string): SettingKind<string> => ({
  mustBe: `a host such as ${example}`,
  read: (text) => (HOST.test(text) ? text.toLowerCase() : undefined),
})

const KEY_BYTES = 32
export const aKey: SettingKind<string> = {
  mustBe: `${KEY_BYTES} bytes in base64`,
  read: (text) => (Buffer.from(text, 'base64').length === KEY_BYTES ? text : undefined),
}

export const setting = <T>(
  name: string,
  kind: SettingKind<T>,
  rest: Omit<Setting<T>, 'name' | keyof SettingKind<T>>,
) => ({ name, ...kind, ...rest }) as Setting<T>

/** A key in the settings would be a key for the whole namespace, so only the emulator's is taken. */
export const emulatorConnection: SettingKind<string> = {
  mustBe:
    'a connection string of the emulator, with "UseDevelopmentEmulator=true"; for Azure set MATOOLKIT_SERVICEBUS_NAMESPACE',
  read: (text) =>
    /(?:^|;)Endpoint=sb:/.test(text) && /(?:^|;)UseDevelopmentEmulator=true(?:;|$)/.test(text)
      ? text
      : undefined,
}
