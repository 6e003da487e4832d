// References to secrets. A reference is a name in the vault with our prefix: nothing else in the vault can be read by one, not
// even the worker's own certificate. For `{{secret:ref}}` in a runbook the job carries a marker, `{ "$secret": ["text", {
// "ref": "…" }] }`, which only template resolution makes (src/domain/runbook/template.ts refuses it in member data). Here markers get
// their values.
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { SECRET_MARK, type SecretPart } from '../../domain/runbook/template.ts'
import { ApiError, type Secrets } from '../http/api.ts'

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
