// `matoolkit complete <kind>`, hidden: the names and ids that a shell offers, one per line. It has a short time limit and says nothing
// when anything fails, because a person is typing.
import { Argument, type Command } from 'commander'
import type { Io } from '../terminal/io.ts'
import type { CompletionKind } from './completion-shells.ts'

const LIMIT_MS = 1_500
const OFFERED_MAX = 200

/** Where each kind comes from: the path, the list in the answer, and the field of a row. */
const LISTS: Readonly<
  Record<Exclude<CompletionKind, 'function'>, readonly [path: string, rows: string, field: string]>
> = {
  runbook: ['/api/runbooks', 'runbooks', 'name'],
  batch: ['/api/batches', 'batches', 'id'],
  worker: ['/api/workers', 'workers', 'workerId'],
}

export function addCompleteCommands(program: Command, io: Io): void {
  program
    .command('complete', { hidden: true })
    .description('list names and ids for shells')
    .addArgument(
      new Argument('<kind>', 'what to list').choices([...Object.keys(LISTS), 'function']),
    )
    .action(async (kind: CompletionKind) => {
      try {
        for (const name of await namesOf(kind, io)) io.out(name)
      } catch {
        // No API, no sign-in, too slow: the shell offers nothing.
      }
    })
}

async function namesOf(kind: CompletionKind, io: Io): Promise<string[]> {
  if (kind === 'function') {
    const { STANDARD_CATALOGUE } = await import('../../domain/runbook/catalogues.ts')
    return STANDARD_CATALOGUE.map(({ name }) => name)
  }
  const { contextOf } = await import('../command-context.ts')
  const { openProfile } = await import('../profile.ts')
  const { profile } = await openProfile({})
  const silent: Io = { ...io, out: () => {}, err: () => {}, progress: () => {} }
  const { client } = contextOf({}, silent, { profile })
  const [path, rows, field] = LISTS[kind]
  const query = kind === 'worker' ? {} : { limit: OFFERED_MAX }
  const signal = AbortSignal.timeout(LIMIT_MS)
  const { body } = await client.get<Record<string, Record<string, unknown>[]>>(path, query, {
    signal,
  })
  return body[rows]!.map((row) => String(row[field])).filter((name) => /^[\w.@-]+$/.test(name))
}
