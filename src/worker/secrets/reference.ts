// References to secrets. A reference is a name in the vault with our prefix: nothing else in the vault can be read by one, not
// even the worker's own certificate. For `{{secret:ref}}` in a runbook the job carries a marker, `{ "$secret": ["text", {
// "ref": "…" }] }`, which only template resolution makes (src/domain/template.ts refuses it in member data). Here markers get
// their values.
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../domain/json.ts'
import { SECRET_MARK, type SecretPart } from '../../domain/template.ts'
import { ApiError, type Secrets } from '../m365/api.ts'

const PREFIX = 'matoolkit-'
/** Key Vault's limit, less the prefix. */
const NAME = /^[0-9a-zA-Z-]{1,110}$/

/** The reference for a name; a name the vault would refuse is hashed. */
export function secretReferenceOf(name: string): string {
  const fits = NAME.test(name)
  return PREFIX + (fits ? name : createHash('sha256').update(name).digest('hex'))
}

/** Throws unless the worker may use the reference. */
export function requireReference(reference: string): void {
  if (reference.startsWith(PREFIX) && NAME.test(reference.slice(PREFIX.length))) return
  throw new ApiError({
    status: null,
    code: 'SecretRefused',
    message: `"${reference.slice(0, 130)}" is not a secret name. Use a name that begins with "${PREFIX}" and contains only letters, digits and hyphens.`,
  })
}

export const secretMissing = (reference: string): ApiError =>
  new ApiError({
    status: 404,
    code: 'SecretNotFound',
    message: `The worker's vault has no secret "${reference}". Add it, or correct the reference.`,
  })

/** Replaces markers by their values and leaves other parameters unchanged. */
export async function resolveSecrets(
  value: Json,
  secrets: Pick<Secrets, 'get'>,
  signal: AbortSignal,
): Promise<Json> {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return Promise.all(value.map((item) => resolveSecrets(item, secrets, signal)))
  const parts = markedParts(value)
  if (parts) {
    const texts = parts.map((part) =>
      typeof part === 'string' ? part : secrets.get(part.ref, signal),
    )
    return (await Promise.all(texts)).join('')
  }
  const entries = Object.entries(value).map(
    async ([key, item]) => [key, await resolveSecrets(item, secrets, signal)] as const,
  )
  return Object.fromEntries(await Promise.all(entries))
}

function markedParts(value: JsonObject): readonly SecretPart[] | null {
  const keys = Object.keys(value)
  const parts = value[SECRET_MARK]
  if (keys.length !== 1 || !Array.isArray(parts)) return null
  return parts.every(isPart) ? (parts as SecretPart[]) : null
}

const isPart = (part: Json): boolean =>
  typeof part === 'string' ||
  (typeof part === 'object' &&
    part !== null &&
    !Array.isArray(part) &&
    typeof part.ref === 'string')

/** Hiding shorter values would mangle ordinary text. */
const HIDDEN_CHARS_MIN = 4

/**
 * A vault for one job that remembers every value read or stored, so that none leaves with the result: a service may quote a
 * password in its error.
 */
export function watchedSecrets(secrets: Secrets): {
  readonly secrets: Secrets
  hide<T extends Json>(value: T): T
} {
  const seen = new Map<string, string>()
  const remember = (value: string, reference: string) => {
    if (value.length < HIDDEN_CHARS_MIN) return
    // Plain, JSON-escaped and URL-encoded.
    for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])
      seen.set(form, `[secret ${reference}]`)
  }
  return {
    secrets: {
      put: async (name, value, signal) => {
        remember(value, name)
        return secrets.put(name, value, signal)
      },
      get: async (reference, signal) => {
        const value = await secrets.get(reference, signal)
        remember(value, reference)
        return value
      },
      find: (name, signal) => secrets.find(name, signal),
    },
    hide: (value) => (seen.size === 0 ? value : (hideSecrets(value, [...seen]) as typeof value)),
  }
}

function hideSecrets(value: Json, seen: readonly (readonly [string, string])[]): Json {
  if (typeof value === 'string')
    return seen.reduce((text, [secret, instead]) => text.replaceAll(secret, instead), value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => hideSecrets(item, seen))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [hideSecrets(key, seen), hideSecrets(item, seen)]),
  )
}
