// JSON values as they travel in requests and responses. The sandbox plays the other side, so it has its own.
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
