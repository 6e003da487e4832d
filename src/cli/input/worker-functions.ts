// The functions of the workers of a running API, for checks of runbook files. Without an API only those of the program are known:
// nobody waits for one that was not asked for.

import { messageOf } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import type { FunctionCatalogue } from '../../domain/runbook/read.ts'
import { openProfile, type ProfileFlags } from '../connection/profile.ts'
import type { Io } from '../terminal/io.ts'

export interface WorkerFunctions {
  /** The API that was asked; null if only the standard functions are known. */
  readonly api: string | null
  readonly catalogues: readonly FunctionCatalogue[]
  /** Why no API was asked, as a sentence; null if one answered. */
  readonly reason: string | null
}

export interface WorkerFunctionsFlags extends ProfileFlags {
  readonly offline?: true
}

/** An API that the settings name and that is not reached now holds nobody up for longer. */
const UNASKED_LIMIT_MS = 2_000

/** Asks the API that a flag names, and throws if it does not answer; else the one of the settings or a running instance, if it does. */
export async function loadWorkerFunctions(
  flags: WorkerFunctionsFlags,
  io: Io,
): Promise<WorkerFunctions> {
  if (flags.offline) return unasked('--offline was given.', io)
  const isAskedFor = [flags.apiUrl, flags.instance, flags.profile].some((one) => one !== undefined)
  if (isAskedFor) return ask(flags, io)
  try {
    return await ask(flags, io, AbortSignal.timeout(UNASKED_LIMIT_MS))
  } catch (error) {
    return unasked(messageOf(error), io)
  }
}

const unasked = async (reason: string, io: Io): Promise<WorkerFunctions> => ({
  api: null,
  catalogues: [await io.packagedFunctions()],
  reason,
})

async function ask(
  flags: WorkerFunctionsFlags,
  io: Io,
  signal?: AbortSignal,
): Promise<WorkerFunctions> {
  const { profile, chosen } = await openProfile(flags)
  const { value: api, from } = profile['api-url']
  if (signal && from === 'default')
    return unasked('No API is set, and none runs here. Name one with --api-url.', io)
  if (chosen?.notice) io.err(printable(chosen.notice))
  // Not needed without an API: a check of a file starts faster.
  const { contextOf } = await import('../program/command-context.ts')
  const { client } = contextOf({}, io, { profile, ...(signal && { signal }) })
  const catalogues: FunctionCatalogue[] = []
  for await (const one of client.each('GET /api/catalogues')) catalogues.push(one)
  return { api, catalogues, reason: null }
}
