// The addresses in a member's key, data and outputs, folded as keys are. They are stored with the member, so that a person is found by
// any of them. Everything takes time in proportion to the text: outputs may be large.
import { isObject, type Json } from './json.ts'
import { foldKey } from './member-key.ts'

/** RFC 5321: 64 before the sign, 255 behind it. */
const ADDRESS_CHARS_MAX = 320
/** Of one member in one write. The members of a group, as an output of one step, are not addresses of that person. */
const ADDRESSES_MAX = 50
/** A colon separates too: `smtp:ada@contoso.com` has the address ada@contoso.com. */
const SEPARATORS = /[\s"<>()[\]{},;:|\\]+/
const OUTER_MARKS = /^['.]+|['.]+$/g

export function addressesIn(...values: readonly Json[]): string[] {
  const found = new Set<string>()
  for (const value of values) collect(value, found)
  return [...found]
}

/** The only address in a text; undefined when there is none or there are several. */
export function soleAddress(text: string): string | undefined {
  const found = addressesIn(text)
  return found.length === 1 ? found[0] : undefined
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
