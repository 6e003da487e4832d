// The values that travel between runbook, database, bus and worker. Nothing that JSON cannot hold gets further than the reader
// of a runbook or a data source.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Names that mean something to JavaScript objects. As keys of our own maps they are refused, wherever they come from. */
export const RESERVED_NAMES: readonly string[] = ['__proto__', 'constructor', 'prototype']
