// Deterministic ids and chance. The same request in the same world gives the same id, whatever came in between, so rehearsals
// can be repeated and runs compared.
import { createHash } from 'node:crypto'

const digestOf = (words: readonly (string | number)[]): Buffer =>
  createHash('sha256').update(JSON.stringify(words)).digest()

/** A version 8 GUID derived from words. */
export function guidOf(...words: readonly (string | number)[]): string {
  const bytes = digestOf(words).subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20]].map(([a, b]) => hex.slice(a, b)).join('-')
}

/** A number in [0, 1). */
export const chanceOf = (...words: readonly (string | number)[]): number =>
  digestOf(words).readUInt32BE(0) / 2 ** 32

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

export const NO_GUID = '00000000-0000-0000-0000-000000000000'
const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isGuidText = (text: string): boolean => GUID.test(text)
