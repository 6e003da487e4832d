// Results that are too large for a message. The function has run, so its result stays a success: the largest fields are cut first,
// because outputs that later steps use are short. `_cut` names what is gone.
import { isObject, type Json, type JsonObject } from '../../base/text/json.ts'

/** A message holds 256 KB; the rest is for its envelope. */
export const RESULT_BYTES_MAX = 200_000
/** `_cut` itself must fit. */
const NAMES_MAX = 20

const bytesOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value))

export function fitResult(result: Json): Json {
  const bytes = bytesOf(result)
  if (bytes <= RESULT_BYTES_MAX) return result
  if (!isObject(result)) return { _cut: `${kindOf(result)} of ${bytes} bytes` }
  // The outputs of a polled function are in `data`.
  if (typeof result.complete === 'boolean' && isObject(result.data)) {
    const { complete, data } = result
    return { complete, data: withoutLargest(data) }
  }
  return withoutLargest(result)
}

function withoutLargest(fields: JsonObject): Json {
  const sizes = Object.entries(fields).map(([name, value]) => ({
    name,
    value,
    bytes: bytesOf(value) + name.length + 4,
  }))
  sizes.sort((a, b) => a.bytes - b.bytes)
  const kept: Record<string, Json> = {}
  let left = RESULT_BYTES_MAX - 10_000
  const cut: string[] = []
  for (const { name, value, bytes } of sizes) {
    left -= bytes
    if (left >= 0) kept[name] = value
    else cut.push(`${name} (${bytes} bytes)`)
  }
  const more = cut.length > NAMES_MAX ? [`${cut.length - NAMES_MAX} more`] : []
  return {
    ...kept,
    _cut: [...cut.slice(0, NAMES_MAX).map((text) => text.slice(0, 200)), ...more].join(', '),
  }
}

const kindOf = (value: Json): string =>
  Array.isArray(value) ? `list of ${value.length} items` : 'text'
