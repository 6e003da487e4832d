// JSON values, which travel between runbook, database, bus and worker. Readers of runbooks and data sources refuse everything
// else.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Names with a meaning on JavaScript objects; refused as keys wherever they come from. */
export const RESERVED_NAMES: readonly string[] = ['__proto__', 'constructor', 'prototype']

/** Deeper values are refused: JSON.parse reads a hundred thousand levels, but writing or storing them fails. */
export const JSON_DEPTH_MAX = 100

export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((inner) => isDeeperThan(inner, levels - 1))
  // Not `Object.values`: every message passes here.
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], levels - 1)) return true
  }
  return false
}

/** What PostgreSQL cannot store in text or jsonb: NUL, and lone surrogates. In JSON text both are escapes. */
const UNSTORABLE_ESCAPE = /\\u(?:0000|d[89a-f])/i

/** Parsed JSON that the database can store: other characters become U+FFFD, in keys too. Throws on invalid JSON. */
export function parseStorable(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // The cheap search comes first: few texts have escapes, and the pattern took as long as the parsing.
  const hasEscapes = text.includes('\\u') && UNSTORABLE_ESCAPE.test(text)
  return hasEscapes && !isDeeperThan(value, JSON_DEPTH_MAX) ? storable(value) : value
}

/** PostgreSQL's texts hold no NUL. */
export const storableText = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(storable)
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [storableText(key), storable(inner)]),
  )
}
