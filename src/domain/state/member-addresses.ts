// The addresses in a member's key, data and outputs, folded as keys are. They are stored with the member, so that a person is found by
// any of them. Everything takes time in proportion to the text: outputs may be large.
import { isObject, type Json } from '../../base/text/json.ts'
import { foldKey } from './member-key.ts'

/** RFC 5321: 64 before the sign, 255 behind it. */
const ADDRESS_CHARS_MAX = 320
/** Of one member in one write. The members of a group, as an output of one step, are not addresses of that person. */
const ADDRESSES_MAX = 200
/** A colon separates too: `smtp:ada@contoso.com` has the address ada@contoso.com. */
const OBJECT_ID_CHARS = 36
const SEPARATORS = /[\s"<>()[\]{},;:|\\]+/
const OUTER_MARKS = /^['.]+|['.]+$/g

export function addressesIn(...values: readonly Json[]): string[] {
  const found = new Set<string>()
  for (const value of values) collect(value, found)
  return [...found]
}

const OBJECT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SMTP_PREFIX = /^smtp:/i

/** The address, sign-in name or object id that a value is, folded; null for anything else, such as an alias. */
export function identityIn(value: Json): string | null {
  if (typeof value !== 'string' || value.length > ADDRESS_CHARS_MAX) return null
  const text = foldKey(value).replace(SMTP_PREFIX, '')
  if (OBJECT_ID.test(text)) return text
  const [only, ...others] = addressesIn(text)
  return others.length === 0 && only === text ? only : null
}

/** By what a member is found: addresses, and values that are object ids. */
export function identitiesIn(...values: readonly Json[]): string[] {
  const found = new Set(addressesIn(...values))
  for (const value of values) collectIds(value, found)
  return [...found]
}

function collectIds(value: Json, found: Set<string>): void {
  if (found.size >= ADDRESSES_MAX) return
  if (typeof value === 'string') {
    if (value.length === OBJECT_ID_CHARS && OBJECT_ID.test(value.toLowerCase()))
      found.add(value.toLowerCase())
  } else if (Array.isArray(value)) for (const inner of value) collectIds(inner, found)
  else if (isObject(value)) for (const key in value) collectIds(value[key]!, found)
}

/** The only address in a text; undefined when there is none or there are several. */
export function soleAddress(text: string): string | undefined {
  const found = addressesIn(text)
  return found.length === 1 ? found[0] : undefined
}

/** The key and addresses of its domain are the old ones, all others the new ones; each at most `most`. */
export function oldAndNewAddresses(
  key: string,
  values: readonly Json[],
  most: number,
): { readonly old: string[]; readonly new: string[] } {
  const domainOf = (address: string) => address.slice(address.indexOf('@') + 1)
  const own = soleAddress(key)
  const all = addressesIn(...values)
  const isOld = (address: string) => own !== undefined && domainOf(address) === domainOf(own)
  const others = all.filter((address) => isOld(address) && address !== own)
  return {
    old: [key, ...others].slice(0, most),
    new: all.filter((address) => !isOld(address)).slice(0, most),
  }
}

function collect(value: Json, found: Set<string>): void {
  if (found.size >= ADDRESSES_MAX) return
  if (typeof value === 'string') collectFrom(value, found)
  else if (Array.isArray(value)) for (const inner of value) collect(inner, found)
  else if (isObject(value)) for (const key in value) collect(value[key]!, found)
}

function collectFrom(text: string, found: Set<string>): void {
  if (!text.includes('@')) return
  for (const part of text.split(SEPARATORS)) {
    if (part.length > ADDRESS_CHARS_MAX) continue
    const address = foldKey(part.replaceAll(OUTER_MARKS, ''))
    const at = address.indexOf('@')
    if (at > 0 && at < address.length - 1) found.add(address)
    if (found.size >= ADDRESSES_MAX) return
  }
}
